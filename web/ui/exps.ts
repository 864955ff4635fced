/* Arithmetic over the letters of the queries, "(A - B) / A * 100", as the functions that the server has (gexp). */

const names: Record<string, string> = { '+': 'sum', '-': 'difference', '*': 'multiply', '/': 'divide' };

/* A number, or the text of a series. */
type Value = { n: number } | { s: string };

/* The gexp of 'text'; 'letter' says what a letter stands for.  Throws what is wrong. */
export function compile(text: string, letter: (name: string) => string | null): string {
  const words = text.match(/\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|'[^']*'|"[^"]*"|[A-Za-z]\w*|[-+*/(),]|\S/g) || [];
  let at = 0;
  const fail = (why: string): never => { throw new Error(`${text}: ${why}`); };
  const next = (w: string) => words[at] === w && ++at > 0;

  function apply(op: string, a: Value, b: Value): Value {
    if ('n' in a && 'n' in b)
      return { n: op === '+' ? a.n + b.n : op === '-' ? a.n - b.n : op === '*' ? a.n * b.n : a.n / b.n };
    if ('s' in a && 's' in b) return { s: `${names[op]}(${a.s},${b.s})` };
    if (op === '*') return { s: 'n' in a ? `scale(${(b as { s: string }).s},${a.n})` : `scale(${a.s},${(b as { n: number }).n})` };
    if (op === '/' && 'n' in b) return { s: `scale(${(a as { s: string }).s},${1 / b.n})` };
    return fail(`a number can be multiplied with a series, not ${op === '/' ? 'divided by one' : 'added'}`);
  }
  /* A function of the server: its parameters are series, numbers or quoted texts. */
  function call(name: string): Value {
    const args: string[] = [];
    if (!next(')')) {
      do {
        const w = words[at];
        if (/^['"]/.test(w)) { args.push(w); at++; } else { const v = sum(); args.push('s' in v ? v.s : String(v.n)); }
      } while (next(','));
      if (!next(')')) fail('a ) is missing');
    }
    return { s: `${name}(${args.join(',')})` };
  }
  function atom(): Value {
    const w = words[at++];
    if (w === undefined) return fail('something is missing at its end');
    if (w === '-') { const v = atom(); return 'n' in v ? { n: -v.n } : { s: `scale(${v.s},-1)` }; }
    if (w === '(') { const v = sum(); return next(')') ? v : fail('a ) is missing'); }
    if (/^\d/.test(w)) return { n: +w };
    if (!/^[A-Za-z]/.test(w)) return fail(`${w} is not expected`);
    if (next('(')) return call(w);
    const s = letter(w);
    return s === null ? fail(`there is no query ${w}`) : { s };
  }
  function product(): Value {
    let v = atom();
    while (words[at] === '*' || words[at] === '/') v = apply(words[at++], v, atom());
    return v;
  }
  function sum(): Value {
    let v = product();
    while (words[at] === '+' || words[at] === '-') v = apply(words[at++], v, product());
    return v;
  }
  const v = sum();
  if (at < words.length) fail(`${words[at]} is not expected`);
  return 's' in v ? v.s : fail('no query is in it');
}

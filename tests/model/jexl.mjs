/*
 * The language of expressions: random formulas, their text, and their value as JEXL 2.1
 * computes it.  A formula is a tree; a value is one of
 *
 *     { double: 1.5 } { float: 1.5 } { int: 3n } { bool: true }
 */
import { below, chance, pick } from './random.mjs';

/* Loosest first; each operand of an operator binds tighter, the left one of these may be
 * as loose, but of the comparisons. */
const LEVELS = [['||'], ['&&'], ['|'], ['^'], ['&'], ['==', '!='], ['<', '<=', '>', '>='], ['+', '-'], ['*', '/', '%']];
const WORDS = { '||': 'or', '&&': 'and', '==': 'eq', '!=': 'ne', '<': 'lt', '<=': 'le', '>': 'gt', '>=': 'ge', '/': 'div', '%': 'mod' };
const level = op => LEVELS.findIndex(l => l.includes(op));

export function makeFormula(variables, depth = 3) {
  const sub = () => makeFormula(variables, depth - 1);
  if (depth === 0 || chance(15))
    return chance(75) ? { name: pick(variables) } : pick([
      { text: '0', value: { int: 0n } }, { text: '2', value: { int: 2n } }, { text: '1.5', value: { float: 1.5 } },
      { text: '100', value: { int: 100n } }, { text: '0.25d', value: { double: 0.25 } }, { text: 'true', value: { bool: true } }]);
  if (chance(6)) return { op: '?:', of: [sub(), sub(), sub()] };
  if (chance(10)) return { op: pick(['neg', 'neg', '!']), of: [sub()] };
  const op = chance(50) ? pick(['+', '-', '*', '/', '%']) : pick(LEVELS.flat());
  return { op, of: [sub(), sub()] };
}

export function textOf(f) {
  if (f.name !== undefined) return f.name;
  if (f.text !== undefined) return f.text;
  const within = (sub, least) => {
    const own = sub.op === undefined ? 100 : sub.op === '?:' ? -1 : sub.op === 'neg' || sub.op === '!' ? 50 : level(sub.op);
    return own >= least && f.spare !== 1 ? textOf(sub) : `(${textOf(sub)})`;
  };
  if (f.op === '?:') return `${within(f.of[0], 0)} ? ${within(f.of[1], 0)} : ${within(f.of[2], 0)}`;
  if (f.op === 'neg') return `-${within(f.of[0], 60)}`;
  if (f.op === '!') return f.word ? `not (${textOf(f.of[0])})` : `!${within(f.of[0], 60)}`;
  const l = level(f.op), left = l === 5 || l === 6 || l <= 1 ? l + 1 : l;
  return `${within(f.of[0], left)} ${f.word && WORDS[f.op] || f.op} ${within(f.of[1], l + 1)}`;
}
/* Some operators as words, some brackets that are not needed. */
export function decorate(f) {
  if (f.of === undefined) return f;
  return { ...f, of: f.of.map(decorate), word: chance(15), spare: below(6) };
}
export const variablesOf = f => f.name !== undefined ? [f.name] : [...new Set((f.of ?? []).flatMap(variablesOf))];

export class Wrong extends Error {}
const isReal = x => x.double !== undefined || x.float !== undefined;
const toDouble = x => x.double ?? x.float ?? (x.int !== undefined ? Number(x.int) : x.bool ? 1 : 0);
const toBool = x => x.bool ?? !(Number.isNaN(toDouble(x)) || toDouble(x) === 0);
const toInt = x => {
  if (x.int === undefined) throw new Wrong('a truth is no integer');
  return x.int;
};
/* The bits of a double are none; of a float, its whole part. */
const toLong = x => x.double !== undefined ? 0n : x.float !== undefined ? BigInt(Math.trunc(x.float))
  : x.int !== undefined ? BigInt.asIntN(64, x.int) : x.bool ? 1n : 0n;

const DOUBLES = { '+': (a, b) => a + b, '-': (a, b) => a - b, '*': (a, b) => a * b, '/': (a, b) => a / b, '%': (a, b) => a % b };
const INTS = { '+': (a, b) => a + b, '-': (a, b) => a - b, '*': (a, b) => a * b, '/': (a, b) => a / b, '%': (a, b) => (a % b + b) % b };

function arithmetic(op, a, b) {
  if (isReal(a) || isReal(b)) {
    const [l, r] = [toDouble(a), toDouble(b)];
    return { double: (op === '/' || op === '%') && r === 0 ? 0 : DOUBLES[op](l, r) };
  }
  /* A division that cannot be done is 0, for whatever reason; all else fails. */
  const division = op === '/' || op === '%';
  if (division && (a.int === undefined || b.int === undefined)) return { double: 0 };
  const [l, r] = [toInt(a), toInt(b)];
  if (division && r === 0n || op === '%' && r < 0n) return { double: 0 };
  return { int: INTS[op](l, r) };
}
const sign = (a, b) => a < b ? -1 : a > b ? 1 : 0;
function compare(a, b) {
  if (isReal(a) || isReal(b)) {
    const [l, r] = [toDouble(a), toDouble(b)];
    return Number.isNaN(l) ? Number.isNaN(r) ? 0 : -1 : Number.isNaN(r) ? 1 : sign(l, r);
  }
  return sign(toLong(a), toLong(b));
}
const equal = (a, b) => a.bool !== undefined || b.bool !== undefined ? toBool(a) === toBool(b) : compare(a, b) === 0;

export function valueOf(f, context) {
  if (f.name !== undefined) return { double: context[f.name] };
  if (f.value !== undefined) return f.value;
  const at = i => valueOf(f.of[i], context);
  switch (f.op) {
  case '?:': return toBool(at(0)) ? at(1) : at(2);
  case '||': return { bool: toBool(at(0)) || toBool(at(1)) };
  case '&&': return { bool: toBool(at(0)) && toBool(at(1)) };
  case '!': return { bool: !toBool(at(0)) };
  }
  const a = at(0);
  if (f.op === 'neg')
    return a.bool !== undefined ? { bool: !a.bool } : a.int !== undefined ? { int: -a.int }
      : a.float !== undefined ? { float: -a.float } : { double: -a.double };
  const b = at(1);
  switch (f.op) {
  case '|': return { int: toLong(a) | toLong(b) };
  case '^': return { int: toLong(a) ^ toLong(b) };
  case '&': return { int: toLong(a) & toLong(b) };
  case '==': return { bool: equal(a, b) };
  case '!=': return { bool: !equal(a, b) };
  case '<': return { bool: compare(a, b) < 0 };
  case '<=': return { bool: compare(a, b) <= 0 };
  case '>': return { bool: compare(a, b) > 0 };
  case '>=': return { bool: compare(a, b) >= 0 };
  }
  return arithmetic(f.op, a, b);
}
/* What a row shows: only doubles and truths can be. */
export function resultOf(f, context) {
  const x = valueOf(f, context);
  if (x.double === undefined && x.bool === undefined) throw new Wrong('neither a double nor a truth');
  return toDouble(x);
}

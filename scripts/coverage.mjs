// coverage.mjs JSON LEAST OUT: gcovr's counts as docs/COVERAGE.md, and a table
// on standard output.  Fails below LEAST percent of lines.
import fs from 'node:fs';

const [json, least, out] = process.argv.slice(2);
const files = JSON.parse(fs.readFileSync(json)).files
  .sort((a, b) => a.file < b.file ? -1 : 1);
const percent = (n, all) => all === 0 ? '-' : (100 * n / all).toFixed(1);
const folder = file => file.replace(/\/[^/]*$/, '');

// A definition's name stands in column 0.
function function_at(text, line) {
  for (let i = line - 1; i >= 0; i--) {
    const m = /^([a-z_][a-z0-9_]*)\(/.exec(text[i]);
    if (m)
      return m[1];
  }
  return '?';
}

const folders = new Map();
const missed = [];
for (const f of files) {
  const lines = f.lines.filter(l => !l['gcovr/noncode']);
  const sum = folders.get(folder(f.file)) ?? { all: 0, run: 0 };
  const not_run = lines.filter(l => l.count === 0);
  sum.all += lines.length;
  sum.run += lines.length - not_run.length;
  folders.set(folder(f.file), sum);
  if (not_run.length === 0)
    continue;
  const text = fs.readFileSync(f.file, 'utf8').split('\n');
  const names = new Map();
  for (const l of not_run) {
    const name = function_at(text, l.line_number);
    names.set(name, (names.get(name) ?? 0) + 1);
  }
  missed.push([f.file, lines.length, not_run.length,
    [...names].sort((a, b) => b[1] - a[1])]);
}

const total = [...folders.values()].reduce((a, b) =>
  ({ all: a.all + b.all, run: a.run + b.run }), { all: 0, run: 0 });
const rows = [...folders].map(([name, s]) =>
  `| \`${name}\` | ${s.all} | ${percent(s.run, s.all)} |`);
rows.push(`| all | ${total.all} | ${percent(total.run, total.all)} |`);
const table = '| folder | lines | % run by tests |\n| --- | --: | --: |\n' +
  rows.join('\n') + '\n';
const list = missed.map(([file, all, n, names]) =>
  `- \`${file}\`, ${n} of ${all}: ` + names.map(([name, count]) =>
    count === 1 ? name : `${name} ${count}`).join(', ')).join('\n');

fs.writeFileSync(out, `# Coverage

Lines that \`make check\` runs, by gcc's counters; written by \`scripts/coverage\`.

${table}
## What no test runs

Functions with the number of their lines that are not run.  Most of them are ways out
when the system rejects: no memory, no thread, no socket.  \`tests/crash\`,
\`tests/faults\`, \`tests/model\` and \`tests/conformance\` run more of them and are not
counted here, as the processes that they kill say nothing.

${list}
`);
console.log(table);
if (100 * total.run < +least * total.all) {
  console.log(`less than ${least} %`);
  process.exit(1);
}

// verdict.mjs RESULTS: reads what compare.mjs --json wrote.  Fails when a step had no
// answer, or one that differs in more than an error's text; names those steps.
import fs from 'node:fs';

const { results } = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const wrong = results.filter(({ cls }) => ['error', 'diff', 'order', 'numfmt'].includes(cls));

for (const { file, id, cls } of wrong) console.log(`${file}: ${id}: ${cls}`);
process.exitCode = results.length === 0 || wrong.length > 0 ? 1 : 0;

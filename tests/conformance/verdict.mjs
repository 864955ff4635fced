// verdict.mjs RESULTS each|total MOST: reads what compare.mjs --json wrote.  Fails
// on any 'error', and when more than MOST percent of the steps are 'diff', in some
// file (each) or in all files together (total).  Names the steps of bad files.
import fs from 'node:fs';

const [resultsPath, rule, most] = process.argv.slice(2);
const { results } = JSON.parse(fs.readFileSync(resultsPath, 'utf8'));
const groups = new Map();

for (const { id, file, cls } of results) {
    const name = rule === 'each' ? file : 'all files';
    if (!groups.has(name)) groups.set(name, { steps: 0, diff: [], error: [] });
    const group = groups.get(name);
    group.steps++;
    group[cls]?.push?.(id);
}
let bad = groups.size === 0;
for (const [name, { steps, diff, error }] of groups) {
    if (error.length === 0 && diff.length * 100 <= Number(most) * steps) continue;
    bad = true;
    console.log(`${name}: ${diff.length} diff, ${error.length} error of ${steps}: ${[...error, ...diff].join(' ')}`);
}
process.exitCode = bad ? 1 : 0;

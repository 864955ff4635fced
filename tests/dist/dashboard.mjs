// Asks for what each panel of the OpenTSDB dashboard shows, as Grafana does, of a server
// that 'halite demo --stats' has fed: every one has points.  Other files are JSON, no more.
//     node dashboard.mjs ADDRESS DASHBOARD.json [OTHER.json...]
import { readFileSync } from 'node:fs';

const [address, ...files] = process.argv.slice(2);
const [{ panels }] = files.map((file) => {
    try {
        return JSON.parse(readFileSync(file, 'utf8'));
    } catch (e) {
        throw new Error(`${file}: ${e.message}`);
    }
});
let asked = 0, bad = 0;
for (const { title, targets } of panels) {
    for (const { metric, aggregator, filters, shouldComputeRate } of targets) {
        const query = {
            metric, aggregator, filters: filters.map((f) => ({ ...f, filter: f.filter.replace('$host', '*') })),
            ...(shouldComputeRate && { rate: true, rateOptions: { counter: true, resetValue: 1 } }),
        };
        const reply = await fetch(`http://${address}/api/query`, {
            method: 'POST', body: JSON.stringify({ start: '10m-ago', queries: [query] }),
        });
        const series = await reply.json();
        asked++;
        if (reply.ok && series.some(({ dps }) => Object.keys(dps).length > 0)) continue;
        console.log(`${title}: ${metric}: ${reply.status} ${JSON.stringify(series).slice(0, 200)}`);
        bad++;
    }
}
if (asked === 0) throw new Error(`${files[0]}: no targets`);
process.exitCode = bad > 0 ? 1 : 0;

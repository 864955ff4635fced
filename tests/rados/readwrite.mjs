// readwrite.mjs HALITE PAIRS [points|last|sum...]: what one daemon acknowledged, each other one answers at once.
//
// Each round puts a point for each of 50 series at one daemon, half of them over points
// that are there, some of series that are new with all their names; when that is
// acknowledged, another daemon is asked for the points, for the newest of each series, or
// for their sum.  A pair is one point written and read.
import { Fleet, HEADS, T0, fail, finish, pick, query, random, seed } from './rig.mjs';

const pairs = Number(process.argv[3] ?? 5000), LANES = 4, SIZE = 50;
const kinds = process.argv.length > 4 ? process.argv.slice(4) : ['points', 'last', 'sum'];
console.log(`seed ${seed} (HALITE_SEED=${seed} repeats the choices)`);
const fleet = new Fleet(['halite.store.head_bytes=4M'], { heads: HEADS, surprise: (d) => fail(`${d.name} ended by itself with ${d.how}`) });
const counts = { points: 0, last: 0, sum: 0 };
let value = 0, fresh = 0, tries = 0;

// Waits for no one: a daemon that is busy at this moment is asked again, another time counts.
async function lane(n) {
    const metric = `rw.m${n}`, names = Array.from({ length: SIZE }, (_, i) => `s${i}`);
    for (let round = 0; counts.points + counts.last + counts.sum < pairs; round++) {
        const from = random(3), to = (from + 1 + random(2)) % 3;
        const kind = pick(kinds);
        for (let k = 0; k < 2; k++) names[random(SIZE)] = `f${n}x${++fresh}`;
        // Times go on, so that this round's are the newest; every third goes over what is there.
        const t = T0 + 7 * (round - (kind !== 'last' && round % 3 === 2 ? 1 : 0));
        const points = names.map((id) => ({ metric, timestamp: t, value: ++value, tags: { id } }));
        for (;;) {
            const a = await fleet.daemons[from].ask('POST', '/api/put', points);
            if (a.status === 204) break;
            tries++;
            if (a.status !== 503) await fail(`a put answered ${a.status} ${a.text.slice(0, 300)}`);
        }
        const d = fleet.daemons[to], where = `${fleet.daemons[from].name} to ${d.name}, lane ${n}, round ${round}`;
        const want = new Map(points.map((p) => [p.tags.id, p.value]));
        if (kind === 'sum') {
            const list = names.join('|');
            const a = await query(d, { start: t, end: t + 1, queries: [{ metric, aggregator: 'sum', filters: [{ type: 'literal_or', tagk: 'id', filter: list, groupBy: false }] }] });
            const sum = points.reduce((x, p) => x + p.value, 0);
            if (a[0]?.dps[t] !== sum) await fail(`${where}: the sum is ${a[0]?.dps[t]}, it should be ${sum}; ${JSON.stringify(a).slice(0, 300)}`);
        } else {
            const seen = new Map();
            if (kind === 'points') {
                for (const g of await query(d, { start: t, end: t + 1, queries: [{ metric, aggregator: 'none' }] })) seen.set(g.tags.id, g.dps[t]);
            } else {
                let a;
                do a = await d.ask('POST', '/api/query/last', { queries: [{ metric, tags: {} }], resolveNames: true, backScan: 0 }, 180000);
                while (a.status === 503); // busy, as above
                if (a.status !== 200) await fail(`${where}: last answered ${a.status} ${a.text.slice(0, 300)}`);
                for (const g of JSON.parse(a.text)) seen.set(g.tags.id, Number(g.value));
            }
            for (const [id, v] of want) if (seen.get(id) !== v) await fail(`${where}: ${kind} of ${id} at ${t} is ${seen.get(id)}, acknowledged was ${v}`);
        }
        counts[kind] += SIZE;
    }
}
await fleet.start(3);
const began = performance.now();
await Promise.all(Array.from({ length: LANES }, (_, n) => lane(n)));
const all = counts.points + counts.last + counts.sum;
console.log(`${all} pairs, ${fresh} of new series: points ${counts.points}, last ${counts.last}, sum ${counts.sum}; 0 missed; ${tries} puts tried again; ${Math.round(all / (performance.now() - began) * 1000)} pairs a second`);
await finish();

/* Histograms: percentiles of them, and their buckets. */
import { compareGroups, commonTags, grouped, makeDownsample, makeFilter, makeRange, matching } from './plain.mjs';
import { bucketOf, run } from './model.mjs';
import { below, chance, pick, shuffle, some } from './random.mjs';
import { Failure, must, say } from './servers.mjs';
import { compareOrder, inWords, named, sorted, stamp } from './world.mjs';

const SETTING = 'tsd.core.histograms.config={"net.opentsdb.core.SimpleHistogramDecoder":0}';
const BOUNDS = [[0, 10], [10, 20], [20, 50], [50, 100.5], [200, 400]];
const PERCENTILES = [0, 0.5, 1, 50, 75, 99, 99.9, 100];
const METRIC = 'h.one';

function makeHistogram(bounds) {
  return { buckets: bounds.map(b => [...b, chance(20) ? 0 : below(50)]), underflow: chance(70) ? 0 : below(9), overflow: chance(70) ? 0 : below(9) };
}
function prepare(world) {
  if (chance(70) && process.env.HALITE_ONLY !== 'histograms') return;
  world.settings.push(SETTING);
  world.more.metrics.push(METRIC);
  /* All with the same buckets: those of the first one read are shown. */
  world.sameBuckets = chance(50);
  const count = 1 + below(6), known = new Set(), bounds = some(BOUNDS, 5).sort((a, b) => a[0] - b[0]);
  for (let i = 0; i < count; i++) {
    const tags = [[0, below(3)], ...chance(50) ? [[1, below(2)]] : []], points = new Map();
    if (known.has(tags.join())) continue;
    known.add(tags.join());
    let ts = world.base + below(5) * world.step;
    for (let n = 1 + below(25); n > 0; n--) {
      ts += world.step * (1 + below(3));
      points.set(ts, makeHistogram(world.sameBuckets ? bounds : some(BOUNDS, 5).sort((a, b) => a[0] - b[0])));
    }
    world.histograms.push({ metric: 0, tags, points });
  }
  world.histograms.sort((a, b) => compareOrder(a.tags.flat(), b.tags.flat()));
}
async function load(s, world) {
  const all = shuffle(world.histograms.flatMap(x => [...x.points].map(([ts, h]) => ({ x, ts, h }))));
  const early = all.filter(() => chance(10)).map(p => ({ ...p, h: makeHistogram(BOUNDS) }));
  const list = [...early, ...all];
  for (let at = 0; at < list.length;) {
    const part = list.slice(at, at += 1 + below(40));
    if (chance(50)) {
      const heard = await say(s, part.map(({ x, ts, h }) => `histogram ${METRIC} ${stamp(ts)} ` +
        `${[...h.buckets.map(([a, b, n]) => `${a},${b}=${n}`), `u=${h.underflow}`, `o=${h.overflow}`].join(':')} ${inWords(world, x.tags)}\n`));
      if (heard !== '') throw new Failure(`telnet said ${heard}`);
    } else {
      await must(s, 'POST', '/api/histogram?details', part.map(({ x, ts, h }) => ({ metric: METRIC, timestamp: stamp(ts), tags: named(world, x.tags),
        buckets: Object.fromEntries(h.buckets.map(([a, b, n]) => [`${a},${b}`, n])), underflow: h.underflow, overflow: h.overflow })));
    }
  }
}
function make(world) {
  const q = { ...makeRange(world), aggregator: pick(['none', 'sum', 'sum']), metric: 0, filters: [], explicit: false };
  for (let k = 0; k < 2; k++) if (chance(40)) q.filters.push(makeFilter(world, k, chance(60)));
  if (chance(50)) {
    const ms = world.step * (1 + below(6)), other = makeDownsample(q.end - q.start + 7200e3, q.zone, ['none'], 80);
    q.ds = chance(50) && !other.all ? other : { all: false, calendar: false, ms, fill: 'none', aggregator: 'sum', interval: `${ms}ms` };
  }
  if (!world.sameBuckets || chance(50)) q.percentiles = some(PERCENTILES, 4);
  return q;
}
function request(world, q) {
  const sub = { metric: METRIC, aggregator: q.aggregator, filters: q.filters.map(f => ({ tagk: world.keys[f.key], type: f.type, filter: f.filter, groupBy: f.groupBy })) };
  if (q.ds) sub.downsample = `${q.ds.interval}-sum`;
  if (q.percentiles) sub.percentiles = q.percentiles;
  else sub.showHistogramBuckets = true;
  return { method: 'POST', path: '/api/query', body: JSON.stringify({ start: q.start, end: q.end, timezone: q.zone, msResolution: true, queries: [sub] }) };
}

function sum(list) {
  const buckets = new Map();
  for (const h of list) for (const [a, b, n] of h.buckets) buckets.set(`${a} ${b}`, [a, b, n + (buckets.get(`${a} ${b}`)?.[2] ?? 0)]);
  return { buckets: [...buckets.values()].sort((x, y) => x[0] - y[0]), underflow: list.reduce((a, h) => a + h.underflow, 0), overflow: list.reduce((a, h) => a + h.overflow, 0) };
}
/* The middle of the bucket in which it lies. */
function percentile(h, p) {
  if (p < 1) return -1;
  const all = h.buckets.reduce((a, b) => a + b[2], 0);
  let so_far = 0;
  for (const [low, high, n] of h.buckets) {
    so_far += n;
    if (so_far * 100 / all >= p) return (low + high) / 2;
  }
  return 0;
}
const java = x => Number.isInteger(x) ? x.toFixed(1) : String(x);

function want(world, q) {
  const hours = run({ ...q, spans: [] }), from = hours.from * 1000, to = (hours.to + 3600) * 1000, out = [];
  if (q.filters.some(f => f.type === 'literal_or' && f.filter.split('|').some(v => !world.values.includes(v)))) return { error: 'unknown' };
  const read = x => sorted(x.points).filter(p => p.ts >= from && p.ts < to);
  const there = matching({ ...world, series: world.histograms }, q).filter(x => read(x).length);
  for (const g of grouped(there, q)) {
    const timestamps = new Map();
    for (const x of g.series) for (const p of read(x)) {
      const ts = q.ds ? bucketOf(q.ds, p.ts).start : p.ts;
      if (ts < from || (q.ds?.calendar && p.ts > q.end)) continue;
      timestamps.set(ts, [...timestamps.get(ts) ?? [], p.v]);
    }
    const dps = [...timestamps].sort((a, b) => a[0] - b[0]).filter(([ts]) => ts >= q.start && ts <= q.end).map(([ts, list]) => ({ ts, h: sum(list) }));
    const show = (name, f) => out.push({ ...commonTags(g.series), alias: `${METRIC}_${name}`, dps: dps.map(p => ({ ts: p.ts, v: f(p.h) })) });
    if (q.percentiles) {
      for (const p of [...q.percentiles].sort((a, b) => a - b)) show(`pct_${java(p)}`, h => percentile(h, p));
    } else if (timestamps.size) {
      show('UNDERFLOW', h => BigInt(h.underflow));
      read(g.series[0])[0].v.buckets.forEach(([a, b], i) => show(`${java(a)}_${java(b)}`, h => BigInt(h.buckets[i][2])));
      show('OVERFLOW', h => BigInt(h.overflow));
    }
  }
  return { groups: out };
}
function smaller(q) {
  const out = q.filters.map(f => ({ ...q, filters: q.filters.filter(g => g !== f) }));
  if (q.ds) out.push({ ...q, ds: undefined });
  if (q.percentiles?.length > 1) for (const p of q.percentiles) out.push({ ...q, percentiles: [p] });
  return out;
}

export const histograms = {
  name: 'histograms', weight: 2, fits: world => world.histograms.length > 0, prepare, load, make, request, want, compare: compareGroups, smaller,
  print: world => world.histograms.forEach(x => console.log(`  ${METRIC} ${inWords(world, x.tags)}: ${sorted(x.points).map(p => `${p.ts}=${JSON.stringify(p.v)}`).join(' ')}`)),
};

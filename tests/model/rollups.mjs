/*
 * Rollups and pre-aggregates.  Which rows a query of them reads beyond its range is not
 * modelled: aggregators do not interpolate, ranges begin with a bucket, series that have
 * nothing in the range do not count.
 */
import { compareStatus, counts, grouped, makeFilter, matching, parse, same, show } from './plain.mjs';
import { below, chance, pick, shuffle } from './random.mjs';
import { Failure, must, say } from './servers.mjs';
import { compareOrder, inWords, named, sorted } from './world.mjs';

const INTERVALS = { '10m': 6e5, '1h': 36e5 };
const CONFIG = { aggregationIds: { sum: 0, count: 1, min: 2, max: 3 }, intervals: [
  { table: 't', preAggregationTable: 'p', interval: '1m', rowSpan: '1h', defaultInterval: true },
  { table: 't10m', preAggregationTable: 'p10m', interval: '10m', rowSpan: '6h' },
  { table: 't1h', preAggregationTable: 'p1h', interval: '1h', rowSpan: '1d' }] };
const KINDS = ['sum', 'count', 'min', 'max'];
const TOTALS = { zimsum: (a, b) => a + b, mimmin: Math.min, mimmax: Math.max };

/* Numbers that add up exactly in any order. */
const value = kind => kind === 'count' ? BigInt(1 + below(20)) : chance(50) ? BigInt(below(2000) - 1000) : below(4000) / 4 - 500;

/* { metric, tags, interval, over, points: ts -> { sum, count, min, max } }; 'over' is that of
 * a pre-aggregate, which may have no interval: points are { of } then. */
function prepare(world) {
  if (chance(70) && process.env.HALITE_ONLY !== 'rollups') return;
  world.rollupsOn = true;
  world.settings.push('tsd.rollups.enable=true', `tsd.rollups.config=${JSON.stringify(CONFIG)}`);
  const known = new Set(), start = Math.floor(world.base / 36e5) * 36e5;
  const tables = [['10m', '1h'], ['10m'], pick([['1h'], []])];
  for (let i = 1 + below(8); i > 0; i--) {
    const metric = below(3), tags = [[0, below(3)], ...chance(50) ? [[1, below(2)]] : []], over = chance(25) ? pick(['SUM', 'MAX']) : undefined;
    if (known.has(`${metric} ${tags} ${over}`)) continue;
    known.add(`${metric} ${tags} ${over}`);
    for (const interval of tables[metric]) {
      const points = new Map();
      for (let n = 1 + below(30), at = start; n > 0; n--, at += INTERVALS[interval] * (1 + below(2)))
        points.set(at, Object.fromEntries(KINDS.map(k => [k, value(k)])));
      world.rollups.push({ metric, tags, interval, over, points });
    }
    /* A pre-aggregate may have points of its own times, too. */
    if (!over || chance(50)) continue;
    const points = new Map();
    for (let n = 1 + below(20), at = start; n > 0; n--) points.set(at += 1000 * (1 + below(900)), { of: value('sum') });
    world.rollups.push({ metric, tags, over, points });
  }
  if (!world.rollups.some(r => r.over)) return;
  world.more.keys.push('_aggregate');
  world.more.values.push(...new Set(world.rollups.filter(r => r.over).map(r => r.over)));
}
const text = v => typeof v === 'bigint' ? String(v) : show(v);

async function load(s, world) {
  const all = shuffle(world.rollups.flatMap(r => [...r.points].flatMap(([ts, of]) => Object.keys(of).map(kind => ({ r, ts, kind, v: of[kind] })))));
  const list = [...all.filter(() => chance(5)).map(p => ({ ...p, v: -7n })), ...all];
  const late = p => Math.floor((p.ts + (p.r.interval ? below(INTERVALS[p.r.interval]) : 0)) / 1000);
  const what = r => r.over?.toLowerCase();
  for (let at = 0; at < list.length;) {
    const part = list.slice(at, at += 1 + below(100));
    if (chance(50)) {
      const heard = await say(s, part.map(p => `rollup ${[...p.r.interval ? [`${p.r.interval}-${p.kind}`] : [], ...p.r.over ? [what(p.r)] : []].join(':')} ` +
        `${world.metrics[p.r.metric]} ${late(p)} ${text(p.v)} ${inWords(world, p.r.tags)}\n`));
      if (heard !== '') throw new Failure(`telnet said ${heard}`);
    } else {
      await must(s, 'POST', '/api/rollup?details', '[' + part.map(p => `{"metric":"${world.metrics[p.r.metric]}","timestamp":${late(p)},"value":${text(p.v)},` +
        `"tags":${JSON.stringify(named(world, p.r.tags))}${p.r.interval ? `,"interval":"${p.r.interval}","aggregator":"${p.kind}"` : ''}` +
        `${p.r.over ? `,"groupByAggregator":"${what(p.r)}"` : ''}}`).join(',') + ']');
    }
  }
}
function make(world) {
  const unit = pick([6e5, 12e5, 18e5, 36e5, 72e5, 42e4]);
  const start = Math.floor(world.base / unit) * unit + unit * (below(6) - 2);
  const q = { unit, start, end: start + unit * (1 + below(12)) - 1, kind: pick([...KINDS, 'avg']), metric: below(3), filters: [], explicit: false,
    aggregator: pick(['none', ...Object.keys(TOTALS)]), usage: pick([undefined, 'ROLLUP_NOFALLBACK', 'ROLLUP_FALLBACK', 'ROLLUP_FALLBACK_RAW', 'ROLLUP_RAW']),
    over: chance(30) ? pick(['SUM', 'MAX']) : undefined };
  for (let k = 0; k < 2; k++) if (chance(40)) q.filters.push(makeFilter(world, k, chance(60)));
  return q;
}
function request(world, q) {
  const filters = q.filters.map(f => ({ tagk: world.keys[f.key], type: f.type, filter: f.filter, groupBy: f.groupBy }));
  if (q.over) filters.push({ tagk: '_aggregate', type: 'literal_or', filter: q.over, groupBy: false });
  const sub = { metric: world.metrics[q.metric], aggregator: q.aggregator, downsample: `${q.unit / 60000}m-${q.kind}`, filters, rollupUsage: q.usage };
  return { method: 'POST', path: '/api/query', body: JSON.stringify({ start: q.start, end: q.end, msResolution: true, queries: [sub] }) };
}

const AGGREGATE = { sum: v => v.reduce((a, b) => a + b, 0), count: v => v.reduce((a, b) => a + b, 0), min: v => Math.min(...v), max: v => Math.max(...v) };
const POINTS = { ...AGGREGATE, count: v => v.length, avg: v => AGGREGATE.sum(v) / v.length };

/* Each series' buckets: ts -> value. */
function ofRollups(points, q) {
  const at = kind => new Map([...buckets(points.map(p => ({ ts: p.ts, v: Number(p.v[kind]) })), q.unit)].map(([ts, v]) => [ts, AGGREGATE[kind](v)]));
  if (q.kind !== 'avg') return at(q.kind);
  const counted = at('count');
  return new Map([...at('sum')].map(([ts, v]) => [ts, v / counted.get(ts)]));
}
function buckets(points, ms) {
  const out = new Map();
  for (const p of points) out.set(p.ts - p.ts % ms, [...out.get(p.ts - p.ts % ms) ?? [], p.v]);
  return out;
}

function want(world, q) {
  if (q.over && !world.more.values.includes(q.over)) return { unsaid: true };
  if (q.filters.some(f => f.type === 'literal_or' && f.filter.split('|').some(v => !world.values.includes(v)))) return { error: 'unknown' };
  const tables = Object.keys(INTERVALS).reverse().filter(i => q.unit % INTERVALS[i] === 0);
  const within = p => p.ts >= q.start && p.ts <= q.end, near = p => p.ts >= q.start - 3 * 864e5 && p.ts <= q.end + 3 * 864e5;
  const rows = interval => matching({ ...world, series: world.rollups.filter(r => r.interval === interval && r.over === q.over) }, q)
    .map(x => ({ tags: x.tags, points: sorted(x.points) }));
  const tries = q.usage === 'ROLLUP_RAW' ? [] : q.usage === 'ROLLUP_FALLBACK' ? tables : tables.slice(0, 1);
  for (const interval of tries) {
    const there = rows(interval);
    if (there.some(x => x.points.some(within))) return answer(there.map(x => ({ ...x, values: ofRollups(x.points, q) })), q);
    if (there.some(x => x.points.some(near))) return { unsaid: true };
  }
  const raw = !tables.length || ['ROLLUP_RAW', 'ROLLUP_FALLBACK', 'ROLLUP_FALLBACK_RAW'].includes(q.usage);
  if (!raw) return { groups: [] };
  const unit = tries.length ? INTERVALS[tries[tries.length - 1]] : q.unit;
  const points = q.over ? rows(undefined).map(x => ({ tags: x.tags, points: x.points.map(p => ({ ts: p.ts, v: p.v.of })) }))
    : matching(world, q).map(x => ({ tags: x.tags, points: sorted(x.points) }));
  return answer(points.map(x => ({ tags: x.tags, values: new Map([...buckets(x.points.map(p => ({ ts: p.ts, v: Number(p.v) })), unit)]
    .map(([ts, v]) => [ts, POINTS[q.kind](v)])) })), q, q.over === undefined && !exact(world, q));
}
/* Sums of large numbers depend on their order, and integers wrap. */
const exact = (world, q) => matching(world, q).every(x => [...x.points.values()].every(v => Math.abs(Number(v)) < 1e6 && Number(v) * 4 % 1 === 0));

function answer(list, q, rough = false) {
  const there = list.filter(x => [...x.values.keys()].some(ts => ts >= q.start && ts <= q.end));
  /* The tag of pre-aggregates has the greatest key of all. */
  const pairs = x => q.over ? [...x.tags.flat(), Infinity] : x.tags.flat();
  there.sort((a, b) => compareOrder(pairs(a), pairs(b)));
  const groups = grouped(there, q).map(g => {
    const dps = new Map();
    for (const x of g.series) for (const [ts, v] of x.values)
      if (ts >= q.start && ts <= q.end) dps.set(ts, dps.has(ts) ? TOTALS[q.aggregator](dps.get(ts), v) : v);
    return { series: g.series, dps: [...dps].sort((a, b) => a[0] - b[0]).map(([ts, v]) => ({ ts, v })) };
  });
  return { groups, rough };
}
function compare(world, w, got) {
  if (w.unsaid) return [200, 400].includes(got.status) ? '' : `status ${got.status}: ${got.text}`;
  const status = compareStatus(w, got);
  if (status || w.error !== undefined) return status;
  const groups = parse(got.text).map(g => Object.entries(g.dps)).filter(d => d.length);
  if (groups.length !== w.groups.length) return `${groups.length} groups, the model has ${w.groups.length}`;
  for (let i = 0; i < groups.length; i++) {
    const dps = groups[i], all = w.groups[i].dps;
    counts.points += dps.length;
    const ok = (a, b) => same(a, b) || w.rough && Math.abs(a - Number(b)) <= 1e-9 * Math.abs(a) || w.rough && Math.abs(a) > 1e15 || w.rough && Math.abs(a - Number(b)) < 1e-9;
    const k = all.findIndex((p, n) => !dps[n] || Number(dps[n][0]) !== p.ts || !ok(p.v, dps[n][1]));
    if (k >= 0 || dps.length !== all.length) return `group ${i}: ${dps.length} points ${dps[k] ?? dps.slice(-1)}, the model has ${all.length} ${JSON.stringify(all[k])}`;
  }
  return '';
}
function smaller(q) {
  return q.filters.map(f => ({ ...q, filters: q.filters.filter(g => g !== f) }));
}

export const rollups = {
  name: 'rollups', weight: 4, fits: world => world.rollupsOn, prepare, load, make, request, want, compare, smaller,
  print: world => world.rollups.forEach(r => console.log(`  rollup ${r.interval} ${r.over ?? ''} ${world.metrics[r.metric]} ${inWords(world, r.tags)}: ` +
    sorted(r.points).map(p => `${p.ts}=${Object.entries(p.v).map(([k, v]) => `${k}:${text(v)}`)}`).join(' '))),
};

/* Queries to /api/query/gexp: functions over series. */
import { Group, PointsOf } from './model.mjs';
import { compareGroups, dsText, groupsOf, makeDownsample, makeRange, NAMES } from './plain.mjs';
import { below, chance, pick, some } from './random.mjs';
import { compareOrder } from './world.mjs';

/* -- what is asked --------------------------------------------------------- */

const COMBINE = { sum: '+', sumSeries: '+', difference: '-', diffSeries: '-', multiply: '*', multiplySeries: '*', divide: '/', divideSeries: '/' };
const SINGLE = {
  absolute: () => '',
  scale: () => pick(['2', '-1', '0', '0.5', '-2.5', '1000000007']),
  alias: () => pick(['total', 'of-@host', '@dc.@owner']),
  movingAverage: () => chance(50) ? String(1 + below(6)) : `'${pick(['5s', '30sec', '1min', '10m', '1h', '2hr', '1day'])}'`,
  highestCurrent: () => String(1 + below(4)),
  highestMax: () => String(1 + below(4)),
  shift: () => pick(["'1min'", "'10min'", "'30sec'", "'1hr'"]),
};
SINGLE.timeShift = SINGLE.shift;

function makeSeries(world, zone, range) {
  const s = { aggregator: pick(NAMES), metric: below(3), filters: [] };
  for (let k = 0; k < 3; k++)
    if (chance(50)) s.filters.push({ key: k, groupBy: true, ...chance(50) ? { type: 'wildcard', filter: '*' } : { type: 'literal_or', filter: some(world.values, 3).join('|') } });
  if (chance(40) && !world.rollupsOn) s.ds = makeDownsample(range + 7200e3, zone, ['none', 'zero', 'nan'], 0);
  if (chance(20)) s.rate = { counter: false, max: 2n ** 63n - 1n, reset: 0n, drop: false };
  return s;
}
function makeCall(world, q, depth) {
  if (depth === 0 || depth < 3 && chance(35)) return { series: makeSeries(world, q.zone, q.end - q.start) };
  if (chance(45)) return { f: pick(Object.keys(COMBINE)), of: Array.from({ length: 2 + below(2) }, () => makeCall(world, q, depth - 1)) };
  const f = pick(Object.keys(SINGLE));
  const n = chance(80) || f === 'shift' || f === 'timeShift' ? 1 : 2;
  return { f, of: Array.from({ length: n }, () => makeCall(world, q, depth - 1)), parameter: SINGLE[f]() };
}
function seriesText(world, s) {
  const tags = s.filters.map(f => `${world.keys[f.key]}=${f.filter}`).join(',');
  return `${s.aggregator}:${s.ds ? dsText(s.ds) + ':' : ''}${s.rate ? 'rate:' : ''}${world.metrics[s.metric]}${tags && `{${tags}}`}`;
}
function callText(world, c) {
  if (c.series) return seriesText(world, c.series);
  return `${c.f}(${[...c.of.map(x => callText(world, x)), ...c.parameter ? [c.parameter] : []].join(',')})`;
}
/* The order of a filter's values does not tell two series apart. */
const asked = (world, s) => seriesText(world, { ...s, filters: s.filters.map(f => ({ ...f, filter: f.filter.split('|').sort().join('|') })) });
const leaves = (world, c) => c.series ? [asked(world, c.series)] : c.of.flatMap(x => leaves(world, x));

function makeGexp(world) {
  for (;;) {
    const q = { ...makeRange(world), post: chance(30) };
    q.call = makeCall(world, q, 3);
    const all = leaves(world, q.call);
    /* Equal series are asked once, which moves the others. */
    if (new Set(all).size === all.length) return q;
  }
}
function request(world, q) {
  const text = callText(world, q.call);
  if (q.post)
    return { method: 'POST', path: '/api/query/gexp', body: JSON.stringify({ start: q.start, end: q.end, timezone: q.zone, exp: text, msResolution: true }) };
  return { method: 'GET', path: `/api/query/gexp?start=${q.start}&end=${q.end}&tz=${encodeURIComponent(q.zone)}&ms&exp=${encodeURIComponent(text)}` };
}
function smaller(q) {
  const calls = function* (c) {
    if (!c.of) {
      const s = c.series;
      if (s.rate) yield { series: { ...s, rate: undefined } };
      if (s.ds) yield { series: { ...s, ds: undefined } };
      for (const f of s.filters) yield { series: { ...s, filters: s.filters.filter(g => g !== f) } };
      return;
    }
    for (const x of c.of) if (x.of) yield x;
    if (c.of.length > (COMBINE[c.f] ? 2 : 1)) for (const x of c.of) yield { ...c, of: c.of.filter(y => y !== x) };
    for (let i = 0; i < c.of.length; i++)
      for (const x of calls(c.of[i])) yield { ...c, of: c.of.map((y, k) => k === i ? x : y) };
  };
  const out = [...calls(q.call)].filter(c => c.f).map(call => ({ ...q, call }));
  if (q.post) out.unshift({ ...q, post: false });
  return out.filter(less => { const all = leaves(EMPTY, less.call); return new Set(all).size === all.length; });
}
const EMPTY = { keys: [0, 1, 2], metrics: [0, 1, 2] };

/* -- what the functions give ----------------------------------------------- */

class Rejected extends Error {}
/* Where OpenTSDB fails and nothing says what should be: any answer will do. */
class Unsaid extends Error {}

const wrap = x => BigInt.asIntN(64, x);
const isInt = v => typeof v === 'bigint';
const abs = v => isInt(v) ? wrap(v < 0n ? -v : v) : Math.abs(v ?? NaN);
const map = (groups, f) => groups.map(g => ({ ...g, dps: g.dps.map(p => ({ ts: p.ts, v: f(p.v) })) }));

function windowOf(text) {
  const m = /^'(\d+)(.*)'$/.exec(text);
  if (!m) return { count: Number(text) };
  return { ms: Number(m[1]) * { s: 1e3, sec: 1e3, m: 6e4, min: 6e4, h: 36e5, hr: 36e5, d: 864e5, day: 864e5 }[m[2]] };
}
/* The mean of the last so many points; or of those that lie less than a time behind this
 * one, once there is one that lies further. */
function average(points, at, { count, ms }) {
  if (ms !== undefined && at === 0) return 0;
  let sum = 0, n = 0, full = false;
  for (let i = at; i >= 0 && !full; i--) {
    if (ms !== undefined && points[at].ts - points[i].ts >= ms) { full = true; break; }
    if (!Number.isNaN(points[i].v)) { sum += points[i].v; n++; }
    full = ms === undefined && n >= count;
  }
  return full && n > 0 ? sum / n : 0;
}
function movingAverage(g, q, window) {
  const points = g.dps.filter(p => p.ts >= q.start && p.ts <= q.end).map(p => ({ ts: p.ts, v: Number(p.v ?? NaN) }));
  const dps = points.map((p, i) => ({ ts: p.ts, v: average(points, i, window) }));
  if (dps.some(p => !Number.isFinite(p.v) && !Number.isNaN(p.v))) throw new Rejected('Got Infinity');
  return { ...g, dps };
}

/* Series are stepped through together, from moment to moment of the range; those that have
 * begun and not ended give a value each, and the n-th of these counts for the n-th series,
 * whichever gave it. */
function highest(groups, q, n, current) {
  const begun = current ? groups.filter(g => g.dps.length) : groups;
  const size = begun.length, ints = Array(size).fill(-(2n ** 63n)), doubles = Array(size).fill(Number.MIN_VALUE);
  const group = new Group(begun.map(g => new PointsOf(g.dps.map(p => ({ ts: p.ts, v: p.v ?? NaN })))), { start: q.start }, { gap: 'lerp' }, false);
  let hasInts = false, hasDoubles = false;
  const soon = () => Math.min(...group.then.filter(p => p).map(p => p.ts));
  while (group.has() && soon() <= q.end) {
    group.next();
    const there = group.now.map((_, i) => i).filter(i => group.now[i] !== null), whole = group.isInteger();
    const list = whole ? ints : doubles, values = Array(size).fill(whole ? 0n : 0);
    there.forEach((i, k) => { values[k] = whole ? group.valueInt(i) : group.valueDouble(i); });
    hasInts ||= whole;
    hasDoubles ||= !whole;
    values.forEach((v, i) => {
      list[i] = current ? v : whole ? (v > list[i] ? v : list[i]) : Math.max(list[i], v);
    });
  }
  if (!hasInts && !hasDoubles) { if (size === 0) return []; throw new Unsaid('no point in the range'); }
  const most = begun.map((g, i) => ({ g, v: hasInts && hasDoubles ? Math.max(Number(ints[i]), doubles[i]) : hasInts ? Number(ints[i]) : doubles[i] }));
  /* Java's order: NaN above all. */
  const rank = (a, b) => Number.isNaN(a) ? Number.isNaN(b) ? 0 : -1 : Number.isNaN(b) ? 1 : b > a ? 1 : b < a ? -1 : Number(Object.is(a, -0)) - Number(Object.is(b, -0));
  return most.sort((a, b) => rank(a.v, b.v)).slice(0, n).map(x => x.g);
}

const OPERATORS = { '+': (a, b) => a + b, '-': (a, b) => a - b, '*': (a, b) => a * b, '/': (a, b) => b === 0 ? 0 : a / b };
const number = v => Number.isNaN(Number(v ?? NaN)) ? 0 : Number(v);

/* Operands of equal length in pairs, else by time. */
function combineSeries(operands, op) {
  const there = operands.filter(o => o), values = pick => operands.map(o => o ? pick(o) : 0).reduce((a, b) => OPERATORS[op](a, b));
  if (there.every(o => o.dps.length === there[0].dps.length))
    return there[0].dps.map((_, i) => ({ ts: Math.min(...there.map(o => o.dps[i].ts)), v: values(o => number(o.dps[i].v)) }));
  const times = [...new Set(there.flatMap(o => o.dps.map(p => p.ts)))].sort((a, b) => a - b);
  return times.map(ts => ({ ts, v: values(o => { const p = o.dps.find(x => x.ts === ts); return p ? number(p.v) : 0; }) }));
}
function combine(lists, op) {
  const rows = new Map();
  lists.forEach((list, i) => list.forEach(g => {
    if (g.dps.length === 0) throw new Unsaid('an operand without points');
    const key = g.base.tags.flat();
    if (!rows.has(key.join())) rows.set(key.join(), { key, of: Array(lists.length).fill(undefined) });
    rows.get(key.join()).of[i] = g;
  }));
  return [...rows.values()].sort((a, b) => compareOrder(a.key, b.key)).map(({ of }) => {
    const there = of.filter(g => g), order = hashOrder(of.length);
    const first = of[order[0]];
    const made = { metric: Math.min(...there.map(g => g.base.metric)), tags: first ? first.base.tags : [],
      aggregated: [...new Set(there.flatMap(g => g.aggregated))].sort((a, b) => a - b), dps: combineSeries(of, op) };
    /* Of operands with another name OpenTSDB finds no metric, and fails. */
    return { ...made, base: made, anyName: there.some(g => g.alias !== undefined || g.anyName) };
  });
}
/* Places of the operands a, b, c .. as java.util.HashMap, made for so many, lists them. */
function hashOrder(n) {
  let size = 1;
  while (size < n) size *= 2;
  if (n > Math.floor(size * 0.75)) size *= 2;
  return Array.from({ length: n }, (_, i) => i).sort((a, b) => (97 + a) % size - (97 + b) % size || a - b);
}

const SHIFTS = { "'1min'": 6e4, "'10min'": 6e5, "'30sec'": 3e4, "'1hr'": 36e5 };

function apply(world, q, c) {
  if (c.series) {
    const r = groupsOf(world, { start: q.start, end: q.end, zone: q.zone, explicit: false, ...c.series }, true);
    if (r.error !== undefined) throw new Rejected(r.error);
    return r.groups.map(g => ({ ...g, base: g }));
  }
  const lists = c.of.map(x => apply(world, q, x)), all = lists.flat(), p = c.parameter;
  if (COMBINE[c.f]) return combine(lists, COMBINE[c.f]);
  switch (c.f) {
  case 'absolute': return map(all, abs);
  case 'scale': return map(all, v => isInt(v) && Number.isInteger(Number(p)) ? wrap(BigInt(p) * v) : Number(p) * Number(v ?? NaN));
  case 'alias': return all.map(g => ({ ...g, tags: [], aggregated: [],
    alias: g.tags.reduce((text, [k, v]) => text.replaceAll(`@${world.keys[k]}`, world.values[v]), p) }));
  case 'movingAverage': return all.map(g => movingAverage(g, q, windowOf(p)));
  case 'highestCurrent': return highest(all, q, Number(p), true);
  case 'highestMax': return highest(all, q, Number(p), false);
  default: return lists[0].map(g => ({ ...g, dps: g.dps.map(x => ({ ts: x.ts + SHIFTS[p], v: x.v })) }));
  }
}
function want(world, q) {
  try {
    return { groups: apply(world, q, q.call).map(g => ({ ...g, dps: g.dps.filter(p => p.ts >= q.start && p.ts <= q.end) })) };
  } catch (e) {
    if (e instanceof Rejected) return { error: e.message };
    if (e instanceof Unsaid) return { unsaid: true };
    throw e;
  }
}
function compare(world, w, got) {
  if (w.unsaid) return [200, 400].includes(got.status) ? '' : `status ${got.status}: ${got.text}`;
  return compareGroups(world, w, got);
}

export const gexp = { name: 'gexp', weight: 3, make: makeGexp, request, want, compare, smaller };

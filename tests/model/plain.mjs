/* Queries to /api/query: what is asked, and what a world would answer. */
import { AGGREGATORS, run, UNITS } from './model.mjs';
import { below, chance, pick, some } from './random.mjs';
import { compareOrder, named, printed, sorted, tsuidOf } from './world.mjs';

const LONG_MAX = 2n ** 63n - 1n;
const UNIT_MS = [1, 1e3, 6e4, 36e5, 864e5, 6048e5, 2592e6, 31536e6];
const ZONES = ['UTC', 'UTC', 'Asia/Kolkata', 'America/New_York', 'Europe/Berlin'];
export const NAMES = Object.keys(AGGREGATORS);

/* -- what is asked --------------------------------------------------------- */

const TESTS = {
  wildcard: f => v => f === '*' || v.startsWith(f.slice(0, -1)),
  literal_or: f => v => f.split('|').includes(v),
  not_literal_or: f => v => !f.split('|').includes(v),
  iliteral_or: f => v => f.toLowerCase().split('|').includes(v.toLowerCase()),
  regexp: f => v => new RegExp(f).test(v),
};
export function makeFilter(world, key, groupBy) {
  const list = some(world.values, 3).join('|');
  const [type, filter] = pick([
    ['wildcard', '*'], ['literal_or', list], ['not_literal_or', list], ['iliteral_or', list.toUpperCase()],
    ['wildcard', `${pick(['w', 'd', 'web0', 'l'])}*`], ['regexp', `0[${below(2)}-2]`],
  ]);
  return { key, type, filter, groupBy };
}
const filterBody = (world, { key, type, filter, groupBy }) => ({ tagk: world.keys[key], type, filter, groupBy });

export function makeDownsample(range, zone, fills = ['none', 'zero', 'nan', 'null'], calendars = 25) {
  const fill = pick(fills), aggregator = pick(NAMES.filter(n => n !== 'none'));
  if (chance(15))
    return { all: true, ms: 0, count: 0, unit: 0, calendar: false, zone, fill, aggregator, interval: '0all' };
  /* As weeks are summed up: by whole hours and days. */
  const whole = range > 3 * 864e5 && chance(40);
  for (;;) {
    const unit = whole ? pick([3, 4, 4, 5]) : below(8);
    const count = whole ? pick([1, 1, 2, 6]) : 1 + below(unit === 0 ? 900 : unit === 5 ? 2 : 40), ms = UNIT_MS[unit] * count;
    if (range / ms >= 300 || ms >= range * 40 + 864e5) continue;
    const calendar = chance(calendars);
    return { all: false, ms, count, unit, calendar, zone, fill, aggregator, interval: `${count}${UNITS[unit]}${calendar ? 'c' : ''}` };
  }
}
export const dsText = ds => `${ds.interval}-${ds.aggregator}-${ds.fill}`;

export function makeRange(world) {
  const span = world.step * 80;
  let start = world.base - world.step * 5 + below(span), end = start + 1 + below(span * 2);
  /* Where points may be. */
  if (chance(40)) start -= (start - world.base) % world.step;
  if (chance(40)) end -= (end - world.base) % world.step;
  return { start, end: Math.max(end, start + 1), zone: pick(ZONES) };
}
export function makePlain(world) {
  const q = { ...makeRange(world), aggregator: pick(NAMES), metric: below(3), filters: [], explicit: chance(15) };
  for (let k = 0; k < 3; k++) if (chance(40)) q.filters.push(makeFilter(world, k, chance(60)));
  if (chance(50)) q.ds = makeDownsample(q.end - q.start + 7200e3, q.zone);
  if (chance(35))
    q.rate = { counter: chance(60), max: chance(50) ? LONG_MAX : BigInt(below(1000)), reset: chance(60) ? 0n : BigInt(below(100)), drop: chance(30) };
  return q;
}
export function bodyOf(world, q, more = {}) {
  const sub = { aggregator: q.aggregator, metric: world.metrics[q.metric], filters: q.filters.map(f => filterBody(world, f)), explicitTags: q.explicit };
  if (q.ds) sub.downsample = dsText(q.ds);
  if (q.ds && world.rollupsOn) sub.rollupUsage = 'ROLLUP_RAW';
  let text = JSON.stringify({ start: q.start, end: q.end, timezone: q.zone, msResolution: true, queries: [sub], ...more });
  if (q.rate) {
    const options = `"rate":true,"rateOptions":{"counter":${q.rate.counter},"counterMax":${q.rate.max},"resetValue":${q.rate.reset},"dropResets":${q.rate.drop}},`;
    text = text.replace('"aggregator"', options + '"aggregator"');
  }
  return text;
}

/* Queries that ask less, to find the least one that still fails. */
export function smaller(q) {
  const out = [];
  if (q.rate) out.push({ ...q, rate: undefined });
  if (q.ds) out.push({ ...q, ds: undefined }, { ...q, ds: { ...q.ds, fill: 'none' } });
  q.filters.forEach((f, i) => {
    out.push({ ...q, filters: q.filters.filter((_, k) => k !== i) });
    if (f.filter !== '*') out.push({ ...q, filters: q.filters.map((g, k) => k === i ? { ...f, type: 'wildcard', filter: '*' } : g) });
  });
  for (const flag of ['explicit', 'seconds', 'arrays', 'tsuids']) if (q[flag]) out.push({ ...q, [flag]: false });
  return out;
}

/* -- what the answer should be --------------------------------------------- */

/* Starts of notes are seconds, or milliseconds that need more bits. */
export const noteMs = t => t < 2 ** 32 ? t * 1000 : t;

/* Whether every name of the query is known: what was ever assigned is. */
const unknown = (world, q) => q.filters.some(f =>
  f.type === 'literal_or' && f.filter.split('|').some(v => !world.values.includes(v)));

export function matching(world, q) {
  return world.series.filter(s => s.metric === q.metric &&
    q.filters.every(f => s.tags.some(([k, v]) => k === f.key && TESTS[f.type](f.filter)(world.values[v]))) &&
    (!q.explicit || q.filters.length === 0 || s.tags.length === new Set(q.filters.map(f => f.key)).size));
}

/* The tags on which all agree that have them, and the keys on which some differ. */
export function commonTags(list) {
  const tags = new Map(), differ = new Set();
  for (const s of list) for (const [k, v] of s.tags) {
    if (tags.has(k) && tags.get(k) !== v) differ.add(k);
    if (!tags.has(k)) tags.set(k, v);
  }
  const byId = (a, b) => a - b;
  return { tags: [...tags].filter(([k]) => !differ.has(k)).sort((a, b) => a[0] - b[0]), aggregated: [...differ].sort(byId) };
}

/* Series to groups, in the order of their ids. */
export function grouped(list, q) {
  const by = [0, 1, 2].filter(k => q.filters.some(f => f.key === k && f.groupBy)), groups = new Map();
  list.forEach((s, i) => {
    const key = q.aggregator === 'none' ? [i] : by.map(k => s.tags.find(t => t[0] === k)[1]);
    if (!groups.has(key.join())) groups.set(key.join(), { key, series: [] });
    groups.get(key.join()).series.push(s);
  });
  return [...groups.values()].sort((a, b) => compareOrder(a.key, b.key));
}

/* { error } or { groups: [{ metric, tags, aggregated, series, noted, dps }] }; "whole" gives
 * all points of the hours read.  A series that has notes in these hours, but no points, adds
 * its notes, and one that was read and not taken adds nothing; a group of nothing else has no
 * metric. */
export function groupsOf(world, q, whole = false) {
  if (unknown(world, q)) return { error: 'unknown' };
  const hours = run({ ...q, spans: [] });
  const isRead = t => t >= hours.from * 1000 && t < (hours.to + 3600) * 1000;
  const has = s => [...s.points.keys()].some(isRead), isNoted = s => world.notes.some(n => n.x === s && isRead(noteMs(n.start)));
  const groups = [];
  for (const g of grouped(matching(world, q).filter(s => has(s) || isNoted(s)), q)) {
    const found = g.series.filter(has);
    const r = run({ ...q, spans: found.map(s => sorted(s.points)) }, whole);
    if (r.error) return { error: r.error };
    const series = found.filter((_, i) => r.taken[i]);
    const noted = g.series.filter(s => isNoted(s) && (!found.includes(s) || series.includes(s)));
    if (series.length === 0)
      groups.push({ tags: [], aggregated: [], series, noted, dps: [] });
    else groups.push({ metric: q.metric, ...commonTags(series), series, noted, dps: r.dps });
  }
  return { groups, hours };
}

/* -- the answer against it ------------------------------------------------- */

export const show = v => v === null ? 'null' : printed(v);
export const same = (v, text) => v === null ? text === null
  : typeof v === 'bigint' ? text === String(v)
    : Number.isNaN(v) ? text === 'NaN'
      : !Number.isFinite(v) ? text === String(v) : /[.E]/.test(text) && Object.is(Number(text), v);
const sortedPairs = o => JSON.stringify(Object.entries(o).sort());

/* Numbers stay as they were written. */
export const parse = text => JSON.parse(text.replace(/"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*/g, x => x[0] === '"' ? x : `"${x}"`));

export const counts = { queries: 0, points: 0 };

export function compareStatus(want, got) {
  const status = want.error === undefined ? 200 : 400;
  return status === got.status ? '' : `status ${got.status}, the model says ${status} ${want.error ?? ''}: ${got.text.slice(0, 300)}`;
}
/* The last of each second, or, in arrays, all. */
const inSeconds = (dps, all) => dps.map(p => ({ ts: Math.floor(p.ts / 1000), v: p.v }))
  .filter((p, i, list) => all || p.ts !== list[i + 1]?.ts);

export function compareGroup(world, w, g, i, q = {}) {
  const metric = w.alias ?? world.metrics[w.metric] ?? '';
  if (g.metric !== metric && (!w.anyName || w.alias !== undefined)) return `group ${i}: metric ${g.metric}, the model has ${metric}`;
  if (sortedPairs(g.tags) !== sortedPairs(named(world, w.tags))) return `group ${i}: tags ${sortedPairs(g.tags)}, the model has ${sortedPairs(named(world, w.tags))}`;
  const aggregated = w.aggregated.map(k => world.keys[k]).sort();
  if (JSON.stringify([...g.aggregateTags].sort()) !== JSON.stringify(aggregated)) return `group ${i}: aggregateTags ${g.aggregateTags}, the model has ${aggregated}`;
  if (q.tsuids && String(g.tsuids) !== String(w.series.map(tsuidOf).sort())) return `group ${i}: tsuids ${g.tsuids}, the model has ${w.series.map(tsuidOf)}`;
  if (q.arrays && !Array.isArray(g.dps)) return `group ${i}: no array`;
  const dps = Array.isArray(g.dps) ? g.dps : Object.entries(g.dps), points = q.seconds ? inSeconds(w.dps, q.arrays) : w.dps;
  counts.points += dps.length;
  for (let k = 0; k < Math.max(dps.length, points.length); k++) {
    const [t, v] = dps[k] ?? [], p = points[k];
    if (p === undefined || t === undefined || Number(t) !== p.ts || !same(p.v, v))
      return `group ${i}, point ${k}: ${t}=${v}, the model has ${p && `${p.ts}=${show(p.v)}`}`;
  }
  return '';
}
export function compareGroups(world, want, got, q) {
  const status = compareStatus(want, got);
  if (status || want.error !== undefined) return status;
  const groups = parse(got.text);
  if (groups.length !== want.groups.length) return `${groups.length} groups, the model has ${want.groups.length}`;
  for (let i = 0; i < groups.length; i++) {
    const why = compareGroup(world, want.groups[i], groups[i], i, q);
    if (why) return why;
  }
  return '';
}

export const plain = {
  name: 'query', weight: 6,
  make: world => ({ ...makePlain(world), seconds: chance(20), arrays: chance(15), tsuids: chance(20) }),
  request: (world, q) => ({ method: 'POST', path: q.arrays ? '/api/query?arrays' : '/api/query',
    body: bodyOf(world, q, { msResolution: !q.seconds, showTSUIDs: q.tsuids }) }),
  want: groupsOf,
  compare: compareGroups,
  smaller,
};

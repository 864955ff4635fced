/* What finds names, series and their newest points: suggest, lookup and last. */
import { compareStatus, counts, same } from './plain.mjs';
import { below, chance, pick, some } from './random.mjs';
import { named, sorted, tsuidOf } from './world.mjs';

const byText = (a, b) => a < b ? -1 : a > b ? 1 : 0;

/* -- /api/suggest ---------------------------------------------------------- */

const LISTS = { metrics: 'metrics', tagk: 'keys', tagv: 'values' };

export const suggest = {
  name: 'suggest', weight: 1,
  make: world => {
    const type = pick(Object.keys(LISTS));
    return { type, prefix: chance(40) ? '' : pick(world[LISTS[type]]).slice(0, below(4)), max: chance(50) ? undefined : below(6) };
  },
  request: (world, q) => ({ method: 'GET', path: `/api/suggest?type=${q.type}&q=${encodeURIComponent(q.prefix)}${q.max === undefined ? '' : `&max=${q.max}`}` }),
  want: (world, q) => ({ names: [...world[LISTS[q.type]], ...world.more[LISTS[q.type]]].filter(n => n.startsWith(q.prefix)).sort(byText).slice(0, q.max || 25) }),
  compare: (world, want, got) => compareStatus(want, got) || (got.text === JSON.stringify(want.names) ? '' : `${got.text}, the model has ${want.names}`),
  smaller: () => [],
};

/* -- /api/search/lookup ---------------------------------------------------- */

/* Of the pairs of one key one must hold, of those without a key, too. */
function found(x, pairs) {
  return [...new Set(pairs.map(p => p.key))].every(key => pairs.some(p => p.key === key &&
    x.tags.some(([k, v]) => (key === undefined || k === key) && (p.value === undefined || v === p.value))));
}
const exists = x => x.points.size > 0 || x.emptied;

export const lookup = {
  name: 'lookup', weight: 1,
  make: () => {
    const pairs = [];
    for (let n = below(4); n > 0; n--) {
      const p = { key: chance(75) ? below(3) : undefined, value: chance(65) ? below(4) : undefined };
      if (p.key !== undefined || p.value !== undefined) pairs.push(p);
    }
    return { metric: below(3), pairs, limit: chance(30) ? 1 + below(3) : undefined, post: chance(50) };
  },
  request: (world, q) => {
    const pairs = q.pairs.map(p => ({ key: p.key === undefined ? '*' : world.keys[p.key], value: p.value === undefined ? '*' : world.values[p.value] }));
    if (q.post) return { method: 'POST', path: '/api/search/lookup', body: JSON.stringify({ metric: world.metrics[q.metric], tags: pairs, limit: q.limit ?? 0 }) };
    const tags = pairs.length ? `{${pairs.map(p => `${p.key}=${p.value}`).join(',')}}` : '';
    return { method: 'GET', path: `/api/search/lookup?m=${encodeURIComponent(world.metrics[q.metric] + tags)}&limit=${q.limit ?? 0}` };
  },
  want: (world, q) => ({ series: world.series.filter(x => x.metric === q.metric && exists(x) && found(x, q.pairs)) }),
  compare: (world, want, got, q) => {
    const status = compareStatus(want, got);
    if (status) return status;
    const { results } = JSON.parse(got.text), all = new Map(want.series.map(x => [tsuidOf(x), x])), n = Math.min(q.limit ?? 1e9, all.size);
    if (results.length !== n || new Set(results.map(r => r.tsuid)).size !== n) return `${results.length} series, the model has ${n} of ${all.size}`;
    const bad = results.find(r => !all.has(r.tsuid) || r.metric !== world.metrics[q.metric] ||
      JSON.stringify(Object.entries(r.tags).sort()) !== JSON.stringify(Object.entries(named(world, all.get(r.tsuid).tags)).sort()));
    return bad ? `${JSON.stringify(bad)} is none of ${[...all.keys()]}` : '';
  },
  smaller: q => q.pairs.map(p => ({ ...q, pairs: q.pairs.filter(o => o !== p) })),
};

/* -- /api/query/last ------------------------------------------------------- */

export const last = {
  name: 'last', weight: 1,
  make: world => {
    const q = { resolve: chance(50), post: chance(50) };
    if (chance(30)) return { ...q, tsuids: some(world.series, 3).map(tsuidOf) };
    const x = pick(world.series);
    return { ...q, metric: chance(80) ? x.metric : below(3), tags: x.tags.filter(() => chance(40)) };
  },
  request: (world, q) => {
    if (q.post) return { method: 'POST', path: '/api/query/last', body: JSON.stringify({
      queries: [q.tsuids ? { tsuids: q.tsuids } : { metric: world.metrics[q.metric], tags: named(world, q.tags) }], resolveNames: q.resolve }) };
    const what = q.tsuids ? `tsuids=${q.tsuids}` : `timeseries=${encodeURIComponent(world.metrics[q.metric] +
      (q.tags.length ? `{${Object.entries(named(world, q.tags)).map(([k, v]) => `${k}=${v}`)}}` : ''))}`;
    return { method: 'GET', path: `/api/query/last?${what}${q.resolve ? '&resolve' : ''}` };
  },
  want: (world, q) => ({ series: world.series.filter(x => x.points.size > 0 && (q.tsuids ? q.tsuids.includes(tsuidOf(x))
    : x.metric === q.metric && q.tags.every(([k, v]) => x.tags.some(t => t[0] === k && t[1] === v)))) }),
  compare: (world, want, got, q) => {
    const status = compareStatus(want, got);
    if (status) return status;
    const answers = new Map(JSON.parse(got.text).map(a => [a.tsuid, a]));
    counts.points += answers.size;
    if (answers.size !== want.series.length) return `${answers.size} series, the model has ${want.series.length}`;
    for (const x of want.series) {
      const a = answers.get(tsuidOf(x)), p = sorted(x.points).pop();
      if (!a || a.timestamp !== p.ts || !same(p.v, a.value) || (a.metric !== undefined) !== q.resolve ||
          q.resolve && (a.metric !== world.metrics[x.metric] || JSON.stringify(Object.entries(a.tags).sort()) !== JSON.stringify(Object.entries(named(world, x.tags)).sort())))
        return `${JSON.stringify(a)}, the model has ${tsuidOf(x)} ${p.ts}=${p.v}`;
    }
    return '';
  },
  smaller: q => q.tags ? q.tags.map(t => ({ ...q, tags: q.tags.filter(u => u !== t) })) : [],
};

/* Queries to /api/query/exp: rows of formulas over series that belong together. */
import { decorate, makeFormula, resultOf, textOf, variablesOf, Wrong } from './jexl.mjs';
import { groupsOf, compareStatus, counts, makeDownsample, makeFilter, makeRange, NAMES, parse, same } from './plain.mjs';
import { below, chance, pick, some } from './random.mjs';
import { compareOrder, named } from './world.mjs';

/* -- what is asked --------------------------------------------------------- */

const PLAIN = { counter: false, max: 2n ** 63n - 1n, reset: 0n, drop: false };

function makeFill() {
  return pick([undefined, undefined, { policy: 'zero' }, { policy: 'nan' }, { policy: 'none' }, { policy: 'null' }, { policy: 'scalar', value: 7.5 }]);
}
function makeFilters(world, id) {
  const tags = [0, 1, 2].filter(k => k === 0 || chance(40)).map(k => makeFilter(world, k, chance(75)));
  return { id, tags };
}
function makeExp(world) {
  const range = makeRange(world);
  const q = { ...range, aggregator: pick(NAMES), rate: chance(15) };
  if (chance(50) && !world.rollupsOn) q.ds = makeDownsample(q.end - q.start + 7200e3, range.zone, ['none'], 0);
  q.filters = [makeFilters(world, 'f1'), makeFilters(world, 'f2')];
  if (chance(30)) q.filters[1].tags = q.filters[0].tags.map(t => ({ ...t, groupBy: chance(50) }));
  const same = chance(50), filter = pick(['f1', 'f2', undefined]);
  q.metrics = ['a', 'b', 'c', 'd', 'e'].slice(0, 1 + below(pick([2, 3, 5]))).map(id => ({
    id, metric: same ? 0 : below(3), filter: chance(70) ? filter : pick(['f1', 'f2', undefined]),
    aggregator: chance(20) ? pick(NAMES) : undefined, fill: makeFill(),
  }));
  const names = q.metrics.map(m => m.id);
  q.expressions = ['x', 'y', 'z'].slice(0, below(4)).map(id => {
    for (;;) {
      const formula = decorate(makeFormula(some(names, 4)));
      if (variablesOf(formula).length === 0) continue;
      if (chance(30)) names.push(id);
      return { id, formula, join: pick([undefined, 'union', 'intersection']), queryTags: chance(25), aggTags: chance(75) };
    }
  });
  if (chance(50)) q.outputs = some([...q.metrics, ...q.expressions].map(o => o.id), 4);
  if (q.outputs && chance(20)) q.outputs.push(pick(q.outputs));
  if (q.outputs && chance(10)) q.outputs.push('nosuch');
  return q;
}

function bodyOf(world, q) {
  const time = { start: String(q.start), end: String(q.end), timezone: q.zone, aggregator: q.aggregator, rate: q.rate };
  if (q.ds) time.downsampler = { interval: q.ds.interval, aggregator: q.ds.aggregator };
  return JSON.stringify({
    time,
    filters: q.filters.map(f => ({ id: f.id, tags: f.tags.map(t => ({ type: t.type, tagk: world.keys[t.key], filter: t.filter, groupBy: t.groupBy })) })),
    metrics: q.metrics.map(m => ({ id: m.id, metric: world.metrics[m.metric], filter: m.filter, aggregator: m.aggregator, fillPolicy: m.fill })),
    expressions: q.expressions.length ? q.expressions.map(e => ({
      id: e.id, expr: textOf(e.formula),
      join: e.join && { operator: e.join, useQueryTags: e.queryTags, includeAggTags: e.aggTags },
    })) : undefined,
    outputs: q.outputs && q.outputs.map(id => ({ id, alias: `the ${id}` })),
  });
}

function* smallerFormulas(f) {
  if (f.of === undefined) return;
  yield* f.of;
  for (let i = 0; i < f.of.length; i++)
    for (const less of smallerFormulas(f.of[i])) yield { ...f, of: f.of.map((g, k) => k === i ? less : g) };
}
function smaller(q) {
  const out = [];
  if (q.outputs) for (const o of q.outputs) out.push({ ...q, outputs: [o] });
  if (q.rate) out.push({ ...q, rate: false });
  if (q.ds) out.push({ ...q, ds: undefined });
  const used = new Set(q.expressions.flatMap(e => variablesOf(e.formula)));
  for (const m of q.metrics) {
    if (!used.has(m.id) && q.metrics.length > 1) out.push({ ...q, metrics: q.metrics.filter(n => n !== m) });
    if (m.fill) out.push({ ...q, metrics: q.metrics.map(n => n === m ? { ...m, fill: undefined } : n) });
    if (m.filter) out.push({ ...q, metrics: q.metrics.map(n => n === m ? { ...m, filter: undefined } : n) });
  }
  for (const e of q.expressions) {
    if (!used.has(e.id)) out.push({ ...q, expressions: q.expressions.filter(x => x !== e) });
    for (const less of smallerFormulas(e.formula))
      if (variablesOf(less).length) out.push({ ...q, expressions: q.expressions.map(x => x === e ? { ...e, formula: less } : x) });
  }
  return out;
}

/* -- which series belong together ------------------------------------------ */

/* Names of one letter as java.util.HashMap lists them, made for so many and filled. */
export function javaOrder(ids) {
  let size = 1;
  while (size < ids.length) size *= 2;
  if (ids.length > Math.floor(size * 0.75)) size *= 2;
  const place = id => id.charCodeAt(0);
  return [...ids].sort((a, b) => place(a) % size - place(b) % size || place(a) % 16 - place(b) % 16);
}
function keyOf(column, operand, join) {
  if (column.tags.length === 0) return [];
  const tags = join.queryTags ? column.tags.filter(([k]) => operand.queryKeys.includes(k)) : column.tags;
  return [...tags.flat(), ...join.aggTags ? column.aggregated : []];
}
/* [{ id: place of the column in that operand }], in the order of the keys.  An
 * intersection puts out the columns that it does not take; the last of those with one key
 * counts, and those before it are neither taken nor put out. */
function joined(operands, join) {
  const rows = new Map();
  operands.forEach((o, nth) => {
    const own = new Set();
    o.columns.forEach((c, i) => {
      const key = keyOf(c, o, join), id = key.join();
      own.add(id);
      if (!rows.has(id)) {
        if (join.intersection && nth > 0) { o.put_out?.(i); return; }
        rows.set(id, { key, of: {}, last: {} });
      }
      rows.get(id).of[o.id] = i;
    });
    if (join.intersection)
      for (const [id, row] of rows) {
        if (own.has(id)) continue;
        for (const p of operands) if (row.of[p.id] !== undefined) p.put_out?.(row.of[p.id]);
        rows.delete(id);
      }
  });
  /* OpenTSDB was seen to answer operands without any series with nothing. */
  if (join.intersection && operands.some(o => o.columns.length) && rows.size === 0) throw new Wrong('no intersections');
  return [...rows.values()].sort((a, b) => compareOrder(a.key, b.key)).map(r => r.of);
}

/* -- rows ------------------------------------------------------------------ */

/* The series of a metric, stepped through by the times at which one of them has a point. */
class Metric {
  constructor(m, groups, queryKeys) {
    this.id = m.id;
    this.queryKeys = queryKeys;
    this.columns = groups.map(g => ({ tags: g.tags, aggregated: g.aggregated, metrics: [m.metric] }));
    this.left = groups.map(g => [...g.dps]);
    this.fill = { scalar: 7.5, zero: 0 }[m.fill?.policy ?? 'zero'] ?? NaN;
  }
  put_out(i) {
    this.left[i] = [];
  }
  time() {
    return Math.min(...this.left.filter(l => l.length).map(l => l[0].ts));
  }
  step(ts) {
    return this.left.map(l => l.length && l[0].ts === ts ? Number(l.shift().v) : this.fill);
  }
  real(v) {
    return Number.isNaN(v) ? this.fill : v;
  }
}
/* An expression used in another: its rows one by one, computed when the first is read. */
class Inner {
  constructor(id, result) {
    this.id = id;
    this.queryKeys = [];
    this.columns = result.columns;
    this.rows = result.rows;
  }
  get left() {
    return this.list ??= this.rows();
  }
  time() {
    return this.left.length ? this.left[0].ts : Infinity;
  }
  step() {
    if (!this.left.length) throw new Wrong('no more rows');
    return this.left.shift().values;
  }
  real(v) {
    if (Number.isNaN(v)) throw new Wrong('NaN of another expression');
    return v;
  }
}

/* { columns: [{ tags, aggregated, metrics }], rows() } of an expression. */
function compute(e, operandOf) {
  const names = variablesOf(e.formula);
  const operands = javaOrder(names).map(operandOf);
  const join = { intersection: e.join === 'intersection', queryTags: e.join ? e.queryTags : false, aggTags: e.join ? e.aggTags : true };
  const columns = joined(operands, join);
  const describe = of => {
    const first = operands[0].columns[of[operands[0].id]];
    const all = operands.map(o => o.columns[of[o.id]]).filter(c => c);
    return { tags: first ? first.tags : [], aggregated: [...new Set(all.flatMap(c => c.aggregated))].sort((a, b) => a - b),
      metrics: [...new Set(all.flatMap(c => c.metrics))] };
  };
  function rows() {
    const out = [];
    for (;;) {
      const ts = Math.min(...operands.map(o => o.time()));
      if (ts === Infinity) return out;
      const values = operands.map(o => o.step(ts));
      out.push({ ts, values: columns.map(of => resultOf(e.formula, Object.fromEntries(operands.map((o, i) =>
        [o.id, of[o.id] === undefined ? 0 : o.real(values[i][of[o.id]])])))) });
    }
  }
  return { columns: columns.map(describe), rows };
}

const LONG_MAX = '9223372036854775807';

/* Numbers are computed when they are read: a metric that holds an infinity fails
 * what reads 'all' of its series.  An intersection reads 'some', and what no
 * output needs is only joined. */
function needOf(q, id) {
  const uses = e => variablesOf(e.formula);
  const shown = q.outputs ?? (q.expressions.length ? q.expressions : q.metrics).map(o => o.id);
  if (!shown.includes(id) && !q.expressions.some(e => uses(e).includes(id))) return 'none';
  const reads = (at, seen) => {
    if (at === id) return true;
    const e = q.expressions.find(x => x.id === at);
    return !!e && !seen.includes(at) && e.join !== 'intersection' && uses(e).some(v => reads(v, [...seen, at]));
  };
  return shown.some(at => reads(at, [])) ? 'all' : 'some';
}

function wantExp(world, q) {
  const groups = {};
  for (const m of q.metrics) {
    const tags = q.filters.find(f => f.id === m.filter)?.tags ?? [];
    const g = groupsOf(world, { start: q.start, end: q.end, zone: q.zone, metric: m.metric, filters: tags, explicit: false,
      aggregator: m.aggregator ?? q.aggregator, ds: q.ds, rate: q.rate ? PLAIN : undefined }, true);
    if (g.error === 'Got Infinity') {
      const need = needOf(q, m.id);
      if (need === 'none') continue;
      return need === 'all' ? g : { empty: true };
    }
    if (g.error !== undefined) return g;
    if (g.groups.some(x => x.dps.length === 0)) return { empty: true };
    groups[m.id] = { groups: g.groups, keys: tags.map(t => t.key) };
  }
  const metricOf = id => new Metric(q.metrics.find(m => m.id === id), groups[id].groups, groups[id].keys);
  const expressionOf = id => compute(q.expressions.find(e => e.id === id), operandOf);
  const operandOf = id => groups[id] ? metricOf(id) : new Inner(id, expressionOf(id));
  const outputs = [], shown = new Set();
  try {
    for (const e of q.expressions) compute(e, id => groups[id] ? metricOf(id) : { id, columns: expressionOf(id).columns, queryKeys: [] });
    const ids = q.outputs ?? (q.expressions.length ? q.expressions : q.metrics).map(o => o.id);
    for (const id of ids) {
      let columns, rows, first, last;
      if (groups[id]) {
        const m = metricOf(id);
        m.fill = 0;
        columns = m.columns;
        rows = [];
        for (let ts = m.time(); ts !== Infinity; ts = m.time()) rows.push({ ts, values: m.step(ts) });
        first = rows.length ? String(rows[0].ts) : LONG_MAX;
        last = rows.length ? String(rows[rows.length - 1].ts) : '0';
      } else if (q.expressions.some(e => e.id === id)) {
        const e = expressionOf(id);
        columns = e.columns;
        rows = shown.has(id) ? [] : e.rows().filter(r => r.ts >= q.start && r.ts <= q.end);
        shown.add(id);
        first = rows.length ? String(rows[0].ts) : '0';
        last = rows.length > 1 ? String(rows[rows.length - 1].ts) : '0';
      } else {
        continue;
      }
      outputs.push({ id, columns, rows, first, last });
    }
  } catch (e) {
    if (!(e instanceof Wrong)) throw e;
    return { error: e.message };
  }
  return { outputs };
}

/* -- the answer ------------------------------------------------------------ */

function compareOutput(world, w, g, hasAlias) {
  const at = `output ${w.id}: `;
  if (g.id !== w.id || g.alias !== (hasAlias ? `the ${w.id}` : undefined)) return `${at}id ${g.id}, alias ${g.alias}`;
  const dpsMeta = { firstTimestamp: w.first, lastTimestamp: w.last, setCount: String(w.rows.length), series: String(w.columns.length) };
  if (JSON.stringify(g.dpsMeta) !== JSON.stringify(dpsMeta)) return `${at}dpsMeta ${JSON.stringify(g.dpsMeta)}, the model has ${JSON.stringify(dpsMeta)}`;
  for (let i = 0; i < Math.max(w.rows.length, g.dps.length); i++) {
    const [t, ...v] = g.dps[i] ?? [], r = w.rows[i];
    counts.points += v.length;
    if (!r || Number(t) !== r.ts || v.length !== r.values.length || !r.values.every((x, k) => same(x, v[k])))
      return `${at}row ${i} is ${t}: ${v}, the model has ${r && `${r.ts}: ${r.values}`}`;
  }
  if (w.columns.length === 0) return g.meta === undefined ? '' : `${at}meta without columns`;
  if (!g.meta) return `${at}no meta`;
  const metrics = w.columns[0].metrics.map(m => world.metrics[m]).sort();
  for (let i = 0; i < w.columns.length; i++) {
    const m = g.meta[i + 1], c = w.columns[i];
    const tags = o => JSON.stringify(Object.entries(o).sort());
    if (!m || m.index !== String(i + 1) || JSON.stringify(m.metrics) !== JSON.stringify(metrics) || tags(m.commonTags) !== tags(named(world, c.tags)) ||
        JSON.stringify([...m.aggregatedTags].sort()) !== JSON.stringify(c.aggregated.map(k => world.keys[k]).sort()))
      return `${at}column ${i + 1} is ${JSON.stringify(m)}, the model has ${metrics} ${tags(named(world, c.tags))} ${c.aggregated.map(k => world.keys[k])}`;
  }
  return g.meta.length === w.columns.length + 1 ? '' : `${at}meta of ${g.meta.length}`;
}
function compareExp(world, want, got, q) {
  if (want.empty) return [200, 400].includes(got.status) ? '' : `status ${got.status}: ${got.text}`;
  const status = compareStatus(want, got);
  if (status || want.error !== undefined) return status;
  const { outputs } = parse(got.text);
  if (outputs.length !== want.outputs.length) return `${outputs.length} outputs, the model has ${want.outputs.length}`;
  for (let i = 0; i < outputs.length; i++) {
    const why = compareOutput(world, want.outputs[i], outputs[i], !!q.outputs);
    if (why) return why;
  }
  return '';
}

export const exp = {
  name: 'exp', weight: 3, make: makeExp, want: wantExp, compare: compareExp, smaller,
  request: (world, q) => ({ method: 'POST', path: '/api/query/exp', body: bodyOf(world, q) }),
};

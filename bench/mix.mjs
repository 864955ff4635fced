// The queries of dashboards, each said once and put to every system in its
// own language; and their answers in one form, so that they can be compared.
import { kinds, metrics } from './workload.mjs';

const hour = 3600;
const enc = encodeURIComponent;

// Kinds of queries over a workload 'w'.  A query: how many metrics ('m',
// from number 'first' on), which hosts (some, by pattern, or all), from when to
// when, how downsampled ('fn' each 'step' seconds; without 'fn' at raw steps),
// maybe as a 'rate', and either aggregated ('agg'), maybe by a tag ('by'), or
// one answer a host ('alone': no other system aggregates it either).
export function queries(w, random) {
  const span = w.end - w.start;
  const hosts = n => {
    const s = new Set();
    while (s.size < Math.min(n, w.hosts))
      s.add('host_' + random(w.hosts));
    return [...s];
  };
  const range = (want, align) => {
    const size = Math.min(want, span);
    const from = w.start +
      random(Math.floor((span - size) / align) + 1) * align;
    return { from, to: from + size };
  };
  const max = (m, n, size, step = 60) => () => ({
    m, hosts: hosts(n), ...range(size, step), fn: 'max', step, agg: 'max',
  });
  const means = m => () => ({
    m, ...range(12 * hour, hour), fn: 'avg', step: hour, by: 'host',
  });
  const sums = (size, more) => () => ({
    m: 1, first: random(10), ...range(size, 60), fn: 'avg', step: 60,
    agg: 'sum', ...more(),
  });
  // The newest of all hosts, at raw steps unless there is a function.
  const newest = (size, more) => () => ({
    m: 1, first: random(w.metrics), from: w.end - size, to: w.end,
    step: w.step, ...more,
  });
  const raw_metrics = Math.min(w.metrics,
    Math.ceil(1e6 / (w.hosts * span / w.step)));
  const raw_size = Math.min(span,
    Math.round(1e6 / w.hosts / raw_metrics) * w.step);
  const all = {
    ping: () => ({ ping: true }),
    'single-groupby-1-1-1': max(1, 1, hour),
    'single-groupby-1-1-12': max(1, 1, 12 * hour),
    'single-groupby-1-8-1': max(1, 8, hour),
    'single-groupby-5-1-1': max(5, 1, hour),
    'single-groupby-5-8-1': max(5, 8, hour),
    'cpu-max-all-1': max(10, 1, 8 * hour, hour),
    'cpu-max-all-8': max(10, 8, 8 * hour, hour),
    'double-groupby-1': means(1),
    'double-groupby-5': means(5),
    'double-groupby-all': means(10),
    lastpoint: () => ({
      m: 10, from: w.start, to: w.end, fn: 'last', by: 'host', step: 0,
    }),
    'sum-all-hosts-1h': sums(hour, () => ({})),
    'sum-all-hosts-12h': sums(12 * hour, () => ({})),
    'filter-wildcard': sums(hour, () => {
      const n = random(w.hosts);
      return { wildcard: `*_${n}`, pattern: `.*_${n}` };
    }),
    'filter-regexp': sums(hour, () => {
      const pattern = `h.st_${random(w.hosts)}`;
      return { regexp: pattern, pattern };
    }),
    'groupby-dc-1h': sums(hour, () => ({ by: 'datacenter' })),
    // OpenTSDB's percentile is at place p (n + 1), others' at 1 + q (n - 1).
    'p95-all-hosts-1h': sums(hour, () => ({
      agg: 'p95', quantile: Math.min(1,
        (0.95 * (w.hosts + 1) - 1) / (w.hosts - 1)),
    })),
    'newest-5m': newest(300, { agg: 'sum' }),
    'newest-5m-decimals': newest(300, { agg: 'sum', first: kinds.dec }),
    'newest-5m-by-1m-dc': newest(300, {
      fn: 'avg', step: 60, agg: 'avg', by: 'datacenter',
    }),
    'newest-30m-dc': newest(1800, { agg: 'avg', by: 'datacenter' }),
    'newest-1h-max': newest(hour, { agg: 'max' }),
    'newest-5m-rate': newest(300, {
      agg: 'sum', first: kinds.cnt, rate: true,
    }),
    'newest-1h-rate': newest(hour, {
      agg: 'sum', first: kinds.cnt, rate: true,
    }),
    'raw-1-1-12': () => ({
      m: 1, first: random(10), hosts: hosts(1), ...range(12 * hour, 60),
      raw: true,
    }),
    'raw-1M-points': () => ({
      m: raw_metrics, ...range(raw_size, w.step), raw: true, by: 'host',
      whole: true,
    }),
  };
  // What is the same query again, because the workload is short.
  if (span <= hour) {
    delete all['single-groupby-1-1-12'];
    delete all['sum-all-hosts-12h'];
    delete all['raw-1-1-12'];
  }
  return all;
}

const names = q => metrics.slice(q.first ?? 0, (q.first ?? 0) + q.m);

function for_vm(q) {
  const ms = names(q), { from, to, step } = q;
  const wanted = [ms.length === 1 ? `__name__="${ms[0]}"`
    : `__name__=~"${ms.map(m => m.replace('.', '[.]')).join('|')}"`];
  if (q.hosts)
    wanted.push(`host=~"${q.hosts.join('|')}"`);
  if (q.pattern)
    wanted.push(`host=~"${q.pattern}"`);
  const series = `{${wanted.join(',')}}`;
  const once = (query, time) => ['GET',
    `/api/v1/query?query=${enc(query)}&time=${time}&nocache=1`];
  if (q.whole)
    return ['GET', `/api/v1/export?match[]=${enc(series)}&start=${from}` +
      `&end=${to - 1}`];
  if (q.raw)
    return once(`${series}[${to - from}s]`, to - 1);
  if (q.fn === 'last' && !q.step)
    return once(`last_over_time(${series}[${to - from}s])`, to - 1);
  const each = q.rate ? `rate(${series}[${step}s])`
    : q.fn ? `${q.fn}_over_time(${series}[${step}s])` : series;
  const by = ['__name__', ...q.by ? [q.by] : []].join(',');
  const agg = q.by === 'host' ? 'avg(' : q.quantile
    ? `quantile(${q.quantile},` : `${q.agg}(`;
  const query = q.alone ? each : `${agg}${each}) by (${by})`;
  // A window is what lies before a time: it is asked for at its last second.
  // The first rate is that of the second bucket.
  const first = from + (q.fn ? step - 1 + (q.rate ? step : 0) : 0);
  return ['GET', `/api/v1/query_range?query=${enc(query)}` +
    `&start=${first}&end=${to - 1}&step=${step}&nocache=1`];
}

function for_influx(q) {
  const from = names(q).map(m => `"${m}"`).join(','), fn = q.fn === 'avg'
    ? 'mean' : q.fn;
  const time = `time >= ${q.from}s AND time < ${q.to}s`;
  const every = `time(${q.step}s)`, by = q.by ? `, ${q.by}` : '';
  let where = time, query;
  if (q.hosts)
    where += ` AND (${q.hosts.map(h => `host = '${h}'`).join(' OR ')})`;
  if (q.pattern)
    where += ` AND host =~ /^${q.pattern}$/`;
  if (q.raw)
    query = `SELECT value FROM ${from} WHERE ${where}` +
      (q.by ? ` GROUP BY ${q.by}` : '');
  else if (q.fn === 'last' && !q.step)
    query = `SELECT last(value) FROM ${from} GROUP BY host`;
  else if (q.rate || q.quantile)
    return null;
  else if (!q.fn)
    query = `SELECT ${q.agg === 'avg' ? 'mean' : q.agg}(value) FROM ${from} ` +
      `WHERE ${where} GROUP BY ${every}${by} fill(none)`;
  else if (q.agg === 'sum')
    query = `SELECT sum(v) FROM (SELECT ${fn}(value) AS v FROM ${from} ` +
      `WHERE ${where} GROUP BY ${every}, host${by} fill(none)) ` +
      `WHERE ${time} GROUP BY ${every}${by} fill(none)`;
  else
    query = `SELECT ${fn}(value) FROM ${from} WHERE ${where} ` +
      `GROUP BY ${every}${by} fill(none)`;
  return ['GET', `/query?db=opentsdb&epoch=s&q=${enc(query)}`];
}

function for_halite(q) {
  const filters = [];
  const add = (type, tagk, filter, groupBy) =>
    filters.push({ type, tagk, filter, groupBy });
  if (q.hosts)
    add('literal_or', 'host', q.hosts.join('|'), false);
  if (q.wildcard)
    add('wildcard', 'host', q.wildcard, false);
  if (q.regexp)
    add('regexp', 'host', `^${q.regexp}$`, false);
  if (q.by)
    add('wildcard', q.by, '*', true);
  const queries = names(q).map(metric => ({
    aggregator: q.agg ?? (q.raw ? 'none' : 'avg'), metric, filters,
    ...q.rate ? { rate: true } : {},
    ...q.fn ? { downsample: q.every ?? (q.step ? `${q.step}s-${q.fn}`
      : `0all-${q.fn}`) } : {},
  }));
  return ['POST', '/api/query', 'application/json',
    JSON.stringify({ start: q.from, end: q.to - 1, queries })];
}

// A ping reads nothing: its time is the client's, the machine's and HTTP's.
const pings = { vm: '/health', influx: '/ping' };

// The points of one metric are a table, of which each row tells its host.
function for_duckdb(q) {
  if (q.m > 1 || q.ping)
    return null;
  const at = q.step ? `t - (t - ${q.from}) % ${q.step}` : '0';
  const wanted = [`t >= ${q.from - (q.rate ? q.step : 0)}`, `t < ${q.to}`];
  if (q.hosts)
    wanted.push(`host IN (${q.hosts.map(h => `'${h}'`)})`);
  if (q.wildcard)
    wanted.push(`host LIKE '${q.wildcard.replace('_', '!_')
      .replace('*', '%')}' ESCAPE '!'`);
  if (q.regexp)
    wanted.push(`regexp_full_match(host, '${q.regexp}')`);
  const from = `FROM m${q.first ?? 0} WHERE ${wanted.join(' AND ')}`;
  const by = q.by ? `, ${q.by}` : '', fn = q.fn === 'last' ? 'arg_max(v, t)'
    : `${q.fn}(v)`;
  const all = q.quantile ? `quantile_cont(x, ${q.quantile})` : `${q.agg}(x)`;
  const rate = `(v - lag(v) OVER (PARTITION BY host ORDER BY t)) / ${q.step}`;
  const sql = q.raw ? `SELECT t, v${by} ${from}`
    : q.by === 'host' ? `SELECT ${at} AS b, ${fn}${by} ${from} GROUP BY b${by}`
      : `SELECT b, ${all}${by} FROM (SELECT ` + (q.rate ? `t AS b, ${rate} ` +
        `AS x${by} ${from}) WHERE x IS NOT NULL AND b >= ${q.from}` : q.fn ? `${at} AS b, ` +
        `${fn} AS x${by} ${from} GROUP BY host, b${by})`
        : `t AS b, v AS x${by} ${from})`) + ` GROUP BY b${by}`;
  return ['POST', '/sql', 'text/plain', sql];
}

// Null: the system has no words for it.
export const request = (kind, q) => q.ping && kind !== 'duckdb' ? ['GET', pings[kind] ?? '/api/version']
  : (({ vm: for_vm, influx: for_influx, duckdb: for_duckdb })[kind] ??
    for_halite)(q);

// "metric|tag" -> [[time, value], ...].
export function normal(kind, q, body) {
  const out = new Map(), last = !q.step && q.fn === 'last';
  const add = (metric, tags, points) => out.set((metric ?? names(q)[0]) +
    (q.by ? '|' + tags?.[q.by] : ''),
    points.map(([t, v]) => [last ? 0 : +t, +v]).sort((a, b) => a[0] - b[0]));
  if (kind === 'vm' && q.whole) {
    for (const text of body.split('\n').filter(x => x)) {
      const r = JSON.parse(text);
      add(r.metric.__name__, r.metric,
        r.values.map((v, i) => [r.timestamps[i] / 1000, v]));
    }
  } else if (kind === 'vm') {
    const back = q.raw || last || !q.fn ? 0 : q.step - 1;
    for (const r of JSON.parse(body).data.result)
      add(r.metric.__name__, r.metric,
        (r.values ?? [r.value]).map(([t, v]) => [t - back, v]));
  } else if (kind === 'duckdb') {
    const groups = new Map();
    for (const [t, v, tag] of JSON.parse(body))
      (groups.get(tag) ?? groups.set(tag, []).get(tag)).push([t, v]);
    for (const [tag, points] of groups)
      add(undefined, { [q.by]: tag }, points);
  } else if (kind === 'influx') {
    for (const r of JSON.parse(body).results[0].series ?? [])
      add(r.name, r.tags, r.values);
  } else {
    for (const r of JSON.parse(body))
      add(r.metric, r.tags, Object.entries(r.dps));
  }
  // OpenTSDB's average of whole numbers is one.
  if (q.agg === 'avg' && !q.fn && !['halite', 'old'].includes(kind))
    for (const points of out.values())
      for (const p of points)
        p[1] = Math.trunc(p[1]);
  return out;
}

// "" or how two answers differ.
export function differ(a, b) {
  if (a.size !== b.size)
    return `${a.size} series against ${b.size}`;
  for (const [key, x] of a) {
    const y = b.get(key);
    if (y === undefined || y.length !== x.length)
      return `${key}: ${x.length} points against ${y?.length}`;
    for (let i = 0; i < x.length; i++)
      if (x[i][0] !== y[i][0] ||
        Math.abs(x[i][1] - y[i][1]) > 1e-6 * Math.max(1, Math.abs(x[i][1])))
        return `${key}: ${x[i]} against ${y[i]}`;
  }
  return '';
}

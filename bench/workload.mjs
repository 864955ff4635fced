// Workloads: their scales, their files, and whether a server holds them.
import fs from 'node:fs';
import { bin, remove, run, scratch, settings } from './tools.mjs';

export const start = 1735689600;
const names = ['user', 'system', 'idle', 'nice', 'iowait', 'irq',
  'softirq', 'steal', 'guest', 'guest_nice'].map(x => 'cpu.usage_' + x);

// Beside the whole numbers of the scales: one metric of each kind.
const beside = { metrics: 3, values: 'mixed', prefix: 'mixed.' };
export const mixed = w => ({ ...w, ...beside });
export const kinds = { int: names.length, dec: names.length + 1,
  cnt: names.length + 2 };
export const metrics = [...names,
  ...names.slice(0, beside.metrics).map(x => beside.prefix + x)];

const scale = (hosts, seconds, step = 10, more = {}) => ({
  hosts, metrics: 10, start, end: start + seconds, step, ...more,
});
export const scales = {
  A: scale(100, 12 * 3600),
  B: scale(4000, 3600),
  C: scale(100000, 20),
  tiny: scale(5, 3600),
};

export const flags = w => Object.entries({ seed: settings.seed, ...w })
  .flatMap(([k, v]) => [`--${k.replace('_', '-')}`, v]);

// Its files, one a connection, and what is in all of them.
export async function files(w, format, connections) {
  const out = { paths: [], points: 0, bytes: 0, sums: {} };
  for (let part = 0; part < connections; part++) {
    const file = scratch(`load-${w.prefix ?? ''}${part}.${format}`);
    const totals = file + '.totals';
    const args = flags({ ...w, format, part, parts: connections })
      .concat(['--totals', totals]).map(x => `'${x}'`).join(' ');
    await run('sh', ['-c', `'${bin('generate')}' ${args} >'${file}'`]);
    const t = JSON.parse(fs.readFileSync(totals, 'utf8'));
    remove(totals);
    out.paths.push(file);
    out.points += t.points;
    out.bytes += t.bytes;
    out.last = Math.max(out.last ?? 0, t.lastSeconds);
    for (const [m, sum] of Object.entries(t.sums))
      out.sums[m] = (out.sums[m] ?? 0) + sum;
  }
  out.remove = () => out.paths.forEach(remove);
  return out;
}

// The put lines of a file, as if they had been made here; the last of a series
// and time counts, where an agent repeats itself.
export function recording(w) {
  const lines = new Map(), series = new Set();
  let from = Infinity, to = -Infinity;
  for (const line of fs.readFileSync(w.recorded, 'latin1').split('\n')) {
    const [put, metric, time, , ...tags] = line.trim().split(/ +/);
    if (put !== 'put' || tags.length === 0)
      continue;
    series.add(`${metric} ${tags}`);
    lines.set(`${metric} ${time} ${tags}`, line.trim());
    from = Math.min(from, +time);
    to = Math.max(to, +time);
  }
  const out = { paths: [scratch('recorded.put')], points: lines.size, sums: {} };
  for (const line of lines.values()) {
    const [, metric, , value] = line.split(/ +/);
    out.sums[metric] = (out.sums[metric] ?? 0) + +value;
  }
  fs.writeFileSync(out.paths[0], [...lines.values(), ''].join('\n'));
  Object.assign(w, { start: from, end: to + 1 });
  return { ...out, series: series.size, remove: () => remove(out.paths[0]) };
}

const enc = encodeURIComponent;
const vm = async (s, query, time) => (await s.json(['GET',
  `/api/v1/query?query=${enc(query)}&time=${time}&nocache=1`])).data.result;
const influx = async (s, query) => (await s.json(['GET',
  `/query?db=opentsdb&epoch=s&q=${enc(query)}`])).results[0].series ?? [];
const halite = (s, from, to, queries) => s.json(['POST', '/api/query',
  'application/json', JSON.stringify({ start: from, end: to, queries })]);
const only = dps => Object.values(dps).reduce((a, b) => a + +b, 0);

// How many series of a metric have a point at a time (in seconds).
export async function count_at(s, metric, time) {
  if (s.kind === 'vm') {
    const r = await vm(s,
      `count(last_over_time({__name__="${metric}"}[1s]))`, time);
    return +(r[0]?.value[1] ?? 0);
  }
  if (s.kind === 'influx') {
    const r = await influx(s,
      `SELECT count(value) FROM "${metric}" WHERE time = ${time}s`);
    return r[0]?.values[0][1] ?? 0;
  }
  const r = await halite(s, time, time + 1,
    [{ aggregator: 'count', metric }]);
  return r.length ? +(r[0].dps[time] ?? 0) : 0;
}

// By metric: how many points, and their sum.
async function totals(s, w, names) {
  const out = {}, from = w.start, to = w.end;
  const put = (m, what, v) => { (out[m] ??= {})[what] = v; };
  if (s.kind === 'vm') {
    for (const what of ['count', 'sum'])
      for (const m of names)
        for (const r of await vm(s, `sum(${what}_over_time(` +
          `{__name__="${m}"}[${to - from + 1}s]))`, to))
          put(m, what, +r.value[1]);
  } else if (s.kind === 'influx') {
    for (const m of names) {
      const r = await influx(s, 'SELECT count(value), sum(value) FROM ' +
        `"${m}" WHERE time >= ${from}s AND time <= ${to}s`);
      put(m, 'count', r[0]?.values[0][1] ?? 0);
      put(m, 'sum', r[0]?.values[0][2] ?? 0);
    }
  } else {
    for (const what of ['count', 'sum'])
      for (const m of names)
        for (const r of await halite(s, from, to, [{
          aggregator: 'sum', metric: m, downsample: `0all-${what}`,
        }]))
          put(m, what, only(r.dps));
  }
  return out;
}

// Compares with what was generated: "" or what differs.
export async function differs(s, w, loaded) {
  const names = Object.keys(loaded.sums), got = await totals(s, w, names);
  let points = 0;
  for (const m of names) {
    const sum = got[m]?.sum ?? 0, want = loaded.sums[m];
    points += got[m]?.count ?? 0;
    if (Math.abs(sum - want) > 1e-9 * Math.max(1, Math.abs(want)))
      return `the sum of ${m} is ${sum}, not ${want}`;
  }
  return points === loaded.points ? ''
    : `${points} of ${loaded.points} points are there`;
}

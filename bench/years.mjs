// Long ranges: a year of points at one minute, a third of the metrics whole
// numbers, a third with two decimals, a third counters; by hour, day and month,
// whole and by host; warm, and the first time after a start with nothing in the
// page cache.
import fs from 'node:fs';
import {
  bin, median, pipe, remove, say, scratch, settings, sleep,
} from './tools.mjs';
import { differ, normal, request } from './mix.mjs';
import { ask } from './queries.mjs';
import { Server } from './servers.mjs';
import { differs, flags, start } from './workload.mjs';

const hour = 3600, day = 24 * hour, month = 30 * day;
const COLD_ROUNDS = Math.min(3, settings.rounds);

const workload = () => ({
  hosts: settings.hosts, metrics: 10, step: 60, values: 'mixed', start,
  end: start + settings.days * day,
});

// What lies in the workload: whole buckets, as they count from 1970.
function ranges() {
  const most = Math.min(360, settings.days) * day;
  const week = [158, 20].map(d => start + d * day)
    .find(t => t + 7 * day <= start + most);
  const quarter = [90, 0].map(d => start + d * day)
    .find(t => t + 90 * day <= start + most);
  const first = Math.ceil(start / month) * month;
  const months = Math.floor((start + settings.days * day - first) / month);
  return {
    week: week && [week, week + 7 * day],
    quarter: quarter && [quarter, quarter + 90 * day],
    year: [start, start + most],
    months: months >= 2 && [first, first + months * month],
  };
}

// The months of the calendar, whole ones.
function calendar() {
  const at = n => Date.UTC(2025, n) / 1e3, out = [];
  for (let n = 0; at(n + 1) <= start + settings.days * day; n++)
    out.push([at(n), at(n + 1)]);
  return out;
}

// Kinds of metrics: the number of one, what is asked of each bucket.
const kinds = {
  int: { first: 0, fns: ['avg'], more: ['sum', 'count', 'max'] },
  dec: { first: 1, fns: ['avg'], more: ['sum', 'count', 'max'] },
  cnt: { first: 2, fns: ['last'], more: [], rate: true },
};
const across = { sum: 'sum', count: 'sum', max: 'max', avg: 'avg', last: 'sum' };

function list() {
  const all = [], { week, quarter, year, months } = ranges();
  const add = (kind, range, name, fn, step, by, cold) => {
    if (range)
      all.push({
        kind, name, cold, q: {
          m: 1, first: kinds[kind].first, from: range[0], to: range[1], fn,
          step, agg: across[fn], rate: kinds[kind].rate,
          ...step === month ? { every: `1n-${fn}` } : {},
          ...by ? { by: 'host', alone: true } : {},
        },
      });
  };
  for (const [kind, { fns, more }] of Object.entries(kinds)) {
    for (const by of [false, true]) {
      const ask_of = (range, name, step, cold) =>
        add(kind, range, name + (by ? ' of each host' : ''), fns[0], step, by,
          cold && !by);
      ask_of(week, 'week by hour', hour);
      ask_of(week, 'week by day', day, true);
      ask_of(quarter, 'quarter by hour', hour);
      ask_of(quarter, 'quarter by day', day, true);
      ask_of(year, 'year by hour', hour, true);
      ask_of(year, 'year by day', day, true);
      ask_of(months, 'year by 30 days', month);
      const c = calendar();
      if (c.length > 1)
        all.push({
          kind, name: 'year by calendar month' + (by ? ' of each host' : ''),
          q: {
            m: 1, first: kinds[kind].first, from: c[0][0],
            to: c[c.length - 1][1], fn: fns[0], step: month,
            every: `1nc-${fns[0]}`, agg: across[fns[0]],
            rate: kinds[kind].rate, calendar: c,
            ...by ? { by: 'host', alone: true } : {},
          },
        });
    }
    for (const fn of more)
      for (const [step, name] of [[hour, 'hour'], [day, 'day']])
        add(kind, year, `year by ${name}: ${fn}`, fn, step, false, false);
  }
  return all.filter(({ name }) => settings.queries.length === 0 ||
    settings.queries.includes(name));
}

// Of a system without calendars: each month by a query of its own.
async function answer(s, q) {
  const one = async x => {
    const r = await s.ask(request(s.kind, x));
    if (r.status !== 200)
      throw new Error(`${s.kind} answers ${r.status}: ${r.body.slice(0, 300)}`);
    return normal(s.kind, x, r.body);
  };
  if (!q.calendar || s.kind !== 'vm')
    return one(q);
  const out = new Map();
  for (const [i, [from, to]] of q.calendar.entries()) {
    if (q.rate && i === 0)
      continue; // OpenTSDB has the first rate in the second bucket
    const step = to - from, back = q.rate ? step : 0;
    // It divides by the time from bucket to bucket, others by that of points.
    const times = q.rate ? step / (from - q.calendar[i - 1][0]) : 1;
    for (const [key, points] of await one({ ...q, from: from - back, to, step }))
      (out.get(key) ?? out.set(key, []).get(key))
        .push(...points.map(([t, v]) => [t, v * times]));
  }
  return out;
}

async function verify(servers, { kind, name, q }) {
  let first;
  for (const s of servers) {
    const map = await answer(s, q);
    if (map.size === 0)
      throw new Error(`${kind}, ${name}: ${s.kind} finds nothing`);
    const why = first ? differ(first.map, map) : '';
    if (why)
      throw new Error(`${kind}, ${name}: ${first.kind} and ${s.kind}: ${why}`);
    first ??= { kind: s.kind, map };
  }
}

// Rows that lie idle are flushed after a minute, and their weeks summed up after that.
async function summarised(s) {
  const value = async name => Number(new RegExp(`^${name} (.*)$`, 'm')
    .exec((await s.get('/metrics')).body)?.[1] ?? 0);
  for (let still = 0, last = -1, n = 0; still < 5 && n < 300 / settings.quiet_s; n++) {
    await sleep(settings.quiet_s * 1e3);
    const written = await value('halite_summaries_written_total');
    still = written === last && written > 0 &&
      await value('halite_head_rows') === 0 ? still + 1 : 0;
    last = written;
  }
}

async function fill(kind, w, report) {
  const s = new Server(kind), totals = scratch('years.totals');
  await s.start();
  const cpu = s.cpu();
  const sent = JSON.parse(await pipe(
    [bin('generate'), ...flags(w), '--totals', totals],
    [bin('load'), s.put_port, 'telnet', '-']));
  const loaded = JSON.parse(fs.readFileSync(totals, 'utf8'));
  remove(totals);
  if (sent.rejected > 0)
    throw new Error(`${kind} rejected ${sent.rejected} points`);
  const cpu_sent = s.cpu() - cpu;
  await s.idle(300);
  await s.settle?.(s);
  if (kind !== 'vm')
    await summarised(s);
  const row = {
    query: 'loading', system: kind, points: loaded.points,
    cpu_sent_us: cpu_sent / loaded.points * 1e6,
    peak_mb: s.memory().peak / 2 ** 20, points_s: loaded.points / sent.seconds,
  };
  const u = await s.stop();
  row.cpu_us = (u.cpu - cpu) / loaded.points * 1e6;
  row.bytes_point = u.disk_bytes / loaded.points;
  row.start_ms = await s.start({ fresh: false }) * 1e3;
  const wrong = await differs(s, w, loaded);
  if (wrong)
    throw new Error(`${kind}: ${wrong}`);
  say(`  ${kind}: ${row.cpu_us.toFixed(3)} us, ` +
    `${row.bytes_point.toFixed(3)} B a point`);
  report(row);
  return s;
}

async function first_after_start(s, q) {
  await s.stop();
  await s.forget();
  await s.start({ fresh: false });
  return ask(s, [request(s.kind, q)], 1);
}

async function measure(servers, { kind, name, q, cold }, report) {
  const timed = servers.filter(s => s.kind !== 'vm' || !q.calendar);
  const rows = new Map(timed.map(s => [s, { warm: [], cold: [] }]));
  // Warm: what threads keep, each of them has only after some queries.
  for (let i = 0; i < settings.rounds; i++)
    for (const s of timed)
      await ask(s, [request(s.kind, q)], 1);
  // In turns: what else the machine does meets all systems alike.
  for (let i = 0; i < settings.rounds; i++)
    for (const [s, r] of rows)
      r.warm.push(await ask(s, [request(s.kind, q)], 1));
  for (let i = 0; cold && i < COLD_ROUNDS; i++)
    for (const [s, r] of rows)
      r.cold.push(await first_after_start(s, q));
  for (const [s, r] of rows) {
    const row = {
      values: kind, query: name, system: s.kind,
      ms: median(r.warm.map(x => x.ms[0])),
      cpu_ms: median(r.warm.map(x => x.cpu_ms)), bytes: r.warm[0].bytes,
      first_ms: median(r.cold.map(x => x.ms[0])),
      first_cpu_ms: median(r.cold.map(x => x.cpu_ms)),
      rss_mb: s.memory().now / 2 ** 20,
    };
    say(`  ${kind}, ${name}, ${s.kind}: ${row.ms.toFixed(1)} ms, CPU ` +
      `${row.cpu_ms.toFixed(1)}, first ${row.first_ms.toFixed(1)} ms`);
    report(row);
  }
}

// Fits the systems that take put lines and have buckets: Halite and
// VictoriaMetrics.
export async function years(systems, report) {
  const w = workload(), servers = [];
  const size = { size: settings.hosts, days: settings.days };
  say(`years: ${w.hosts} hosts, ${settings.days} days`);
  for (const kind of systems.filter(x => ['halite', 'old', 'vm'].includes(x)))
    servers.push(await fill(kind, w, row => report({ ...row, ...size })));
  const all = list();
  for (const one of all)
    await verify(servers, one);
  for (const one of all)
    await measure(servers, one, row => report({ ...row, ...size }));
  for (const s of servers) {
    await s.stop();
    s.remove();
  }
}

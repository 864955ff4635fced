// soak.mjs HALITE SECONDS [POINTS_S [QUERIES_S]]: a daemon under a steady load
// for long, and whether anything grows that should stand still.
//
// The data's clock runs 60 times as fast: each minute of the run is an hour of
// data, which is flushed, and after KEEP hours deleted; so a run goes through
// what a server does in days, and its disk, too, should stand still.  The small
// buffers that are set have the WAL, the open rows and LevelDB's tables turn
// over many times.  Beside the load there are connections that break, lines
// that are wrong, and queries of several kinds.
//
// A sample a minute (a 60th of a shorter run): memory, descriptors, files,
// bytes on the disk, and how long queries and puts took.  The verdict looks
// at what came after the warm-up, the first third:
//
//     what must not grow   the Theil-Sen slope over the rest, times its length,
//                          against a limit (LIMITS); a few wild samples do not
//                          move such a slope
//     times                the same, but the limit is wide: other people's load
//                          on the machine looks like ours
//     points               each hour that is kept has all points that were
//                          acknowledged, before and after a restart
//
// Memory is told twice: what is the process's own, and with the pages of files
// that LevelDB maps, its tables, which come and go with these.
//
// With SOAK_KEEP set, the figures go to docs/performance/soak.json, which
// bench/plots.mjs draws.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { Results } from '../../bench/results.mjs';
import { disk_bytes, machine, median, quantile, random, sleep }
  from '../../bench/tools.mjs';

const [halite, seconds_text, points_text, queries_text] = process.argv.slice(2);
if (!halite || !(+seconds_text > 0)) {
  console.error('usage: soak.mjs HALITE SECONDS [POINTS_S [QUERIES_S]]');
  process.exit(2);
}
const SECONDS = +seconds_text;
const TICKS_S = 10, STEP = 6; // a tick is 6 s of data: 60 times as fast
const SERIES = Math.max(8, Math.round(+(points_text || 20000) / TICKS_S / 8) * 8);
const QUERIES_S = +(queries_text || 10);
const T0 = 1735689600, HOUR = 3600, KEEP = 6;
const SAMPLE_S = Math.max(1, Math.min(60, Math.round(SECONDS / 60)));

// Of the median, and at least so many units, in a whole run after the warm-up.
const LIMITS = {
  own_mb: { share: 0.15, least: 8 },
  rss_mb: { share: 0.25, least: 16 },
  fds: { share: 0, least: 4 },
  threads: { share: 0, least: 1 },
  files: { share: 0.25, least: 8 },
  disk_mb: { share: 0.25, least: 16 },
  query_p50_ms: { share: 1, least: 5 },
  query_p99_ms: { share: 2, least: 50 },
  put_p99_ms: { share: 2, least: 50 },
};

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'halite-soak-'));
const data = path.join(dir, 'data');
const draw = random(+(process.env.HALITE_SEED || 1));
let server, port, faults = [];
const fault = text => { if (faults.push(text) < 20) console.error(text); };
process.on('exit', () => {
  server?.kill('SIGKILL');
  fs.rmSync(dir, { recursive: true, force: true });
});
for (const s of ['SIGINT', 'SIGTERM'])
  process.on(s, () => process.exit(1));

async function start() {
  let text = '';
  server = spawn(halite, ['tsd', '--bind', '127.0.0.1', '--port', '0',
    '--data', data, 'tsd.http.query.allow_delete=true',
    'tsd.core.auto_create_metrics=true', 'halite.store.head_bytes=48M',
    'halite.store.journal_bytes=64M', 'halite.store.journal_segment_bytes=8M',
    'halite.store.write_buffer_bytes=4M', 'halite.store.cache_bytes=4M',
    'halite.store.seal_delay_ms=1000'],
  { stdio: ['ignore', 'ignore', 'pipe'] });
  server.gone = new Promise(r => server.on('exit', (c, s) => r(c ?? s)));
  port = await new Promise((done, failed) => {
    server.stderr.on('data', d => {
      text = (text + d).slice(-4000);
      const m = /listening on \S+:(\d+)/.exec(text);
      if (m)
        done(+m[1]);
    });
    server.gone.then(how => failed(new Error(`ended with ${how}: ${text}`)));
  });
}

const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
const ask = (method, target, body, of = agent) => new Promise((done, failed) => {
  const r = http.request({ host: '127.0.0.1', port, method, path: target,
    agent: of }, m => {
    let text = '';
    m.on('data', d => { text += d; });
    m.on('end', () => done({ status: m.statusCode, text }));
    m.on('error', failed);
  });
  r.on('error', failed);
  r.end(body === undefined ? undefined : JSON.stringify(body));
});

// -- load: one point a series each tick --------------------------------------
// Eighths of the series: four over telnet, four over HTTP.
const metric = s => `soak.m${s % 4}`;
const tags = s => ({ host: `h${s >> 3}`, unit: `u${s & 7}` });
// Half of them counters, which take next to no room, and half noise, so that
// LevelDB's tables, too, turn over many times.
const value = (s, tick) => s % 2 === 0 ? tick * 7 + s
  : (s * 2654435761 + tick * 40503 * 7919) % 1000003 / 977;
let times = { query: [], put: [] }, points = 0;

async function telnet_tick(connection, series, tick) {
  const t = T0 + tick * STEP;
  const answer = new Promise((done, failed) => {
    connection.heard = done;
    connection.failed = failed;
  });
  connection.write(series.map(s => `put ${metric(s)} ${t} ${value(s, tick)} ` +
    `host=h${s >> 3} unit=u${s & 7}\n`).join('') + 'version\n');
  await answer;
}
function telnet_open() {
  const c = net.connect(port, '127.0.0.1');
  c.on('error', e => c.failed?.(e));
  c.on('close', () => c.failed?.(new Error('telnet connection closed')));
  c.on('data', d => {
    if (/^put:/m.test(d))
      fault(`telnet: ${d}`);
    if (/Built on|version/.test(d))
      c.heard?.();
  });
  return c;
}
async function http_tick(series, tick) {
  const t = T0 + tick * STEP;
  const a = await ask('POST', '/api/put', series.map(s => ({ metric: metric(s),
    timestamp: t, value: value(s, tick), tags: tags(s) })));
  if (a.status !== 204)
    fault(`put: ${a.status} ${a.text.slice(0, 200)}`);
}

// Ticks that come too late are done late, none is left out; 'done' says to
// where all points are acknowledged.
const life = { on: true, done: [] };
async function writer(k) {
  const series = Array.from({ length: SERIES / 8 }, (_, i) => i * 8 + k);
  const c = k < 4 ? telnet_open() : null;
  for (let tick = 0; life.on; tick++) {
    const due = life.from + (tick * 1000 + k * 125) / TICKS_S;
    await sleep(Math.max(0, due - performance.now()));
    const from = performance.now();
    await (c ? telnet_tick(c, series, tick) : http_tick(series, tick));
    times.put.push(performance.now() - from);
    life.done[k] = tick;
    points += series.length;
  }
  c?.removeAllListeners('close');
  c?.destroy();
}
const ticks_done = () => Math.min(...life.done) + 1;
const hours_done = () => Math.floor(ticks_done() * STEP / HOUR);

// -- queries, and what is deleted -------------------------------------------
const data_now = () => T0 + ticks_done() * STEP;
const query = (q, end = data_now(), span = HOUR) => ['POST', '/api/query',
  { start: Math.max(T0, end - span), end, queries: [q] }];
const kinds = [
  () => query({ metric: `soak.m${draw(4)}`, aggregator: 'sum',
    tags: { host: `h${draw(SERIES / 8)}` } }),
  () => query({ metric: `soak.m${draw(4)}`, aggregator: 'avg',
    downsample: '1m-max', tags: { unit: '*' } }, data_now(), 900),
  () => query({ metric: `soak.m${draw(4)}`, aggregator: 'none', rate: true,
    filters: [{ type: 'wildcard', tagk: 'host', filter: 'h1*',
      groupBy: true }] }, data_now(), 600),
  () => query({ metric: `soak.m${draw(4)}`, aggregator: 'p95',
    downsample: '10m-avg' }, data_now(), 2 * HOUR),
  () => ['GET', `/api/suggest?type=tagv&q=h${draw(10)}&max=100`],
  () => ['GET', `/api/search/lookup?m=soak.m${draw(4)}%7Bhost=h${draw(9)}%7D`],
  () => ['GET', `/api/query/last?timeseries=soak.m0%7Bhost=h${draw(9)}%7D` +
    '&resolve=true&back_scan=1'],
  () => ['GET', '/api/stats'],
];
async function client() {
  for (let i = 0; life.on; i++) {
    const due = life.from + 2000 + i * 1000 / QUERIES_S;
    await sleep(Math.max(0, due - performance.now()));
    const [method, target, body] = kinds[i % kinds.length]();
    const from = performance.now();
    // Each sixteenth on a connection of its own.
    const a = await ask(method, target, body, i % 16 === 0 ? false : agent);
    times.query.push(performance.now() - from);
    if (a.status !== 200)
      fault(`${target} ${JSON.stringify(body)}: ${a.status} ` +
        a.text.slice(0, 200));
  }
}

// Clients as they should not be: half a line, half a request, nonsense.
async function pest() {
  const said = ['put soak.m0 1', 'put soak.m0 nonsense 1 host=h1\n',
    'GET /api/query?start=', 'POST /api/put HTTP/1.1\r\nContent-Length: 99' +
    '\r\n\r\n[{"metric":', 'put x 1 1\nput\nhelp\n', '\0\x01\xff\n'];
  while (life.on) {
    await sleep(1000);
    const c = net.connect(port, '127.0.0.1');
    c.on('error', () => {});
    c.on('data', () => {});
    c.write(said[draw(said.length)], 'latin1');
    await sleep(200);
    c.destroy();
  }
}

let deleted = 0; // hours
async function cleaner() {
  while (life.on) {
    await sleep(500);
    for (; hours_done() - deleted > KEEP; deleted++) {
      const start = T0 + deleted * HOUR;
      for (let m = 0; m < 4; m++) {
        const a = await ask('POST', '/api/query', { start, end: start + HOUR - 1,
          delete: true, queries: [{ metric: `soak.m${m}`, aggregator: 'count',
            downsample: '1h-count' }] });
        if (a.status !== 200)
          fault(`delete: ${a.status} ${a.text.slice(0, 200)}`);
      }
    }
  }
}

// Every whole hour that is kept has each point of each series.
async function verify(when) {
  const hours = hours_done();
  let seen = 0;
  for (let h = deleted; h < hours; h++)
    for (let m = 0; m < 4; m++) {
      const start = T0 + h * HOUR;
      const a = await ask('POST', '/api/query', { start, end: start + HOUR - 1,
        queries: [{ metric: `soak.m${m}`, aggregator: 'sum',
          downsample: '1h-count' }] });
      const got = a.status === 200 ? Object.values(JSON.parse(a.text)[0]?.dps ??
        {}).reduce((x, y) => x + y, 0) : -1;
      const want = SERIES / 4 * HOUR / STEP;
      seen += got;
      if (got !== want)
        fault(`${when}: soak.m${m}, hour ${h}: ${got} points, not ${want}`);
    }
  console.log(`${when}: ${hours - deleted} hours, ${seen} points compared`);
}

// -- samples ------------------------------------------------------------------
const proc = name => fs.readFileSync(`/proc/${server.pid}/${name}`, 'utf8');
function count_files(folder) {
  return fs.readdirSync(folder, { withFileTypes: true }).reduce((n, e) =>
    n + (e.isDirectory() ? count_files(path.join(folder, e.name)) : 1), 0);
}
// Files come and go while they are counted.
const again = f => {
  for (let i = 0; ; i++)
    try {
      return f();
    } catch (e) {
      if (i === 20)
        throw e;
    }
};
function sample(at_s) {
  const status = proc('status'), stat = proc('stat').split(') ')[1].split(' ');
  const n = key => +new RegExp(`^${key}:\\s*(\\d+)`, 'm').exec(status)[1];
  const s = {
    size: Math.round(at_s), points,
    rss_mb: n('VmRSS') / 1024, own_mb: n('RssAnon') / 1024,
    threads: n('Threads'),
    fds: fs.readdirSync(`/proc/${server.pid}/fd`).length,
    files: again(() => count_files(data)),
    disk_mb: again(() => disk_bytes(data)) / 2 ** 20,
    cpu_s: (+stat[11] + +stat[12]) / 100,
    query_p50_ms: quantile(times.query, 0.5),
    query_p99_ms: quantile(times.query, 0.99),
    put_p50_ms: quantile(times.put, 0.5),
    put_p99_ms: quantile(times.put, 0.99),
    load: os.loadavg()[0],
  };
  times = { query: [], put: [] };
  return s;
}
const short = v => typeof v === 'number' && !Number.isInteger(v)
  ? v.toPrecision(3) : v;

// -- verdict --------------------------------------------------------------------
// The median of the slopes of all pairs, a second.
function slope(rows, key) {
  const all = [];
  rows.forEach((a, i) => rows.slice(i + 1).forEach(b =>
    all.push((b[key] - a[key]) / (b.size - a.size))));
  return median(all);
}
function verdict(rows) {
  const rest = rows.filter(r => r.size > rows.at(-1).size / 3);
  const length = rest.length < 2 ? 0 : rest.at(-1).size - rest[0].size;
  console.log(`\n${'after the warm-up'.padEnd(18)}     median  growth  limit`);
  for (const [key, { share, least }] of Object.entries(LIMITS)) {
    const middle = median(rest.map(r => r[key]));
    const growth = slope(rest, key) * length;
    const limit = Math.max(least, share * middle);
    const good = rest.length < 8 || growth <= limit;
    console.log(key.padEnd(18), ...[middle, growth, limit].map(v =>
      short(v).toString().padStart(8)), good ? '' : '  GROWS');
    if (!good)
      fault(`${key} grows by ${short(growth)}, limit ${short(limit)}`);
  }
}

await start();
life.from = performance.now();
life.done = Array(8).fill(-1);
const rows = [];
const all = [...Array(8).keys()].map(writer);
all.push(client(), pest(), cleaner());
const broken = Promise.all(all).catch(e => fault(`the load: ${e.message}`));
console.log(`${SERIES} series, ${SERIES * TICKS_S} points a second, ` +
  `${QUERIES_S} queries a second, ${SECONDS} s`);
for (let i = 1; i * SAMPLE_S <= SECONDS && faults.length === 0; i++) {
  await Promise.race([broken, sleep(Math.max(0,
    life.from + i * SAMPLE_S * 1000 - performance.now()))]);
  if (server.exitCode !== null || server.signalCode !== null) {
    fault('the server is gone');
    break;
  }
  rows.push(sample((performance.now() - life.from) / 1000));
  if (i === 1)
    console.log(Object.keys(rows[0]).join(' '));
  console.log(Object.values(rows.at(-1)).map(short).join(' '));
}
life.on = false;
await Promise.race([broken, sleep(30000)]);
if (faults.length === 0) {
  await verify('before the stop');
  agent.destroy();
  server.kill('SIGTERM');
  const how = await server.gone;
  if (how !== 0)
    fault(`SIGTERM ended with ${how}`);
  await start();
  await verify('after a restart');
}
if (rows.length > 0)
  verdict(rows);
if (process.env.SOAK_KEEP && rows.length > 0) {
  const out = new Results('soak'), on = machine();
  out.rows = [];
  rows.forEach(r => out.add({ what: 'soak', ...r }, on));
}
console.log(faults.length === 0 ? 'ok' : `FAILED: ${faults.length} faults, ` +
  `the first: ${faults[0]}`);
process.exit(faults.length === 0 ? 0 : 1);

// node hourly.mjs build/halite: points of sixty days, then a policy that keeps fourteen days of them and
// two years of hourly values.  What hourly values can tell is answered as before, the rest with a
// warning; and what fsck looks at is clean.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const halite = path.resolve(process.argv[2]);
const root = fs.mkdtempSync(path.join(os.tmpdir(), 'halite-hourly-'));
let server;
process.on('exit', () => {
  server?.kill('SIGKILL');
  fs.rmSync(root, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));
const fail = why => {
  console.error(`FAILED: ${why}`);
  process.exit(1);
};
const pause = ms => new Promise(done => setTimeout(done, ms));

let base;
async function start(...settings) {
  server = spawn(halite, ['tsd', '--port=0', '--bind=127.0.0.1', `--data=${root}/store`,
    'halite.store.summary_delay_ms=1', ...settings], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  base = await new Promise(found => server.stderr.on('data', bytes => {
    log += bytes;
    const said = /127\.0\.0\.1:(\d+)/.exec(log);
    if (said) found(`http://127.0.0.1:${said[1]}`);
  }));
}
async function stop() {
  const ended = new Promise(done => server.on('exit', done));
  server.kill('SIGTERM');
  await ended;
}
async function until(what, f) {
  for (let i = 0; i < 600; i++, await pause(50))
    if (await f()) return;
  fail(`waited in vain until ${what}`);
}
async function counter(name) {
  const text = await (await fetch(`${base}/metrics`)).text();
  return Number(new RegExp(`^${name}(?:{.*})? ([0-9.e+]+)$`, 'm').exec(text)?.[1] ?? 0);
}

const day = 86400, now = Math.floor(Date.now() / 1000), hour = now - 50 * day - (now - 50 * day) % 3600;
const ranges = [[now - 59 * day, now], [hour, hour + 6 * 3600], [hour + 7200, hour + 3 * day],
  [now - 55 * day, now - 45 * day]];
const ask = (metric, down, of = ranges) => of.map(([from, to]) =>
  `/api/query?start=${from}&end=${to}&m=sum:${down}:${metric}%7Bhost=*%7D`);
// Equal to the bit; equal but for the last digits; not to be told.
const exact = ['1h-avg', '1h-sum', '6h-count', '1h-max', '2h-min', '1h-last', '3h-first', '1d-avg', '1d-max', '1d-min', '7d-last', '1d-first'];
const plans = ['whole', 'decimal'].flatMap(metric => [
  ...exact.flatMap(d => ask(metric, d).map(query => ({ query, exact: true }))),
  ...ask(metric, '1h-sum').map(query => ({ query: query.replace('%7Bhost=*%7D', ''), exact: true })),
  ...ask(metric, '6hc-count', ranges.map(([from, to]) => [from, to - to % 3600 - 1]))
    .map(query => ({ query: query + '&timezone=America/New_York', exact: true })),
  // An hour that an edge cuts is missing; of the three days, each side has one.
  ...ask(metric, '1dc-count', [ranges[2]]).map(query => ({ query: query + '&timezone=Asia/Kathmandu', lacks: 8 })),
  ...ask(metric, '0all-count', [ranges[2].map(t => t + 1800)]).map(query => ({ query, lacks: 8 })),
  ...ask(metric, '30d-sum').map(query => ({ query, exact: metric === 'whole' })),
  ...ask(metric, '1h-dev').map(query => ({ query, warns: true })),
]);
async function answer(query) {
  const r = await fetch(base + query);
  return { text: await r.text(), warns: r.headers.has('warning') };
}
const rounded = text => text.replace(/-?\d+(\.\d+)?(E-?\d+)?/g, n => Number(n).toPrecision(11));

await start();
// Hours that a series lacks are interpolated, at the end of the range, too.
const lacks = { a: () => false, b: () => false, c: at => Math.floor(at / 3600) % 5 < 2 };
for (const host of Object.keys(lacks))
  for (const [metric, value] of [['whole', i => i * 7 % 100], ['decimal', i => i * 37 % 10000 / 100]]) {
    const points = [];
    for (let i = 0, at = now - 60 * day; at < now; at += 900, i++)
      if (!lacks[host](at)) points.push({ metric, timestamp: at, value: value(i), tags: { host } });
    const r = await fetch(`${base}/api/put`, { method: 'POST', body: JSON.stringify(points) });
    if (r.status !== 204) fail(`put: ${r.status} ${await r.text()}`);
  }
await stop(); // all is flushed
await start();
await until('weeks are summarised', async () => await counter('halite_summaries_written_total') >= 28);
const before = [];
for (const p of plans) before.push((await answer(p.query)).text);
const set = await fetch(`${base}/api/retention`, { method: 'PUT', body: JSON.stringify({ policies: '* 14d 2y' }) });
if (!set.ok) fail(`policies: ${await set.text()}`);
await stop();
await start('halite.retention.interval_ms=200');
let last = -1;
await until('rows were dropped', async () => {
  const rows = await counter('halite_retention_rows_total');
  const done = rows > 0 && rows === last;
  last = rows;
  if (!done) await pause(300);
  return done;
});
// The most points that a bucket lacks.  One that has only a cut hour is missing altogether.
const numbers = text => new Map(JSON.parse(text).flatMap(({ tags, dps }) =>
  Object.entries(dps).map(([ts, v]) => [tags.host + ts, v])));
const missing = (was, is) => [...is.keys()].some(at => !was.has(at)) ? Infinity :
  Math.max(...[...was].map(([at, v]) => Math.abs(v - (is.get(at) ?? 0))));
for (const [i, p] of plans.entries()) {
  const after = await answer(p.query);
  if (p.lacks !== undefined) {
    const n = missing(numbers(before[i]), numbers(after.text));
    if (!(n > 0 && n <= p.lacks) || !after.warns)
      fail(`${p.query}: ${n} points of a bucket are missing\n${before[i].slice(0, 300)}\n${after.text.slice(0, 300)}`);
    continue;
  }
  const same = p.exact ? after.text === before[i] : rounded(after.text) === rounded(before[i]);
  if (p.warns ? !after.warns : after.warns || !same)
    fail(`${p.query}: ${after.warns ? 'with a warning' : ''}\n${before[i].slice(0, 300)}\n${after.text.slice(0, 300)}`);
}
// The raw points are gone, and the answer says so.
const raw = await answer(`/api/query?start=${hour}&end=${hour + 3600}&m=sum:whole`);
if (raw.text !== '[]' || !raw.warns) fail(`raw points: ${raw.text}`);
// As are hourly values, before others of them.
const hourly = await fetch(`${base}/api/query?start=${now - 800 * day}&m=sum:1h-sum:whole&show_summary`);
if (!/"hourly values before \d+ are dropped/.test(hourly.headers.get('warning')) ||
  !/"warning":"hourly values before \d+ are dropped/.test(await hourly.text()))
  fail(`hourly values: ${hourly.headers.get('warning')}`);
// Each sub-query says what it lacks, in the header, in a dry run and on the command line.
const two = `start=${now - 800 * day}&m=sum:1h-sum:whole&m=sum:decimal&m=sum:whole`;
const said = (await fetch(`${base}/api/query?${two}`)).headers.get('warning');
if (!/^299 - "hourly values before \d+ are dropped \(retention\), sub-queries 0", 299 - "raw points before \d+ are dropped \(retention\), sub-queries 1 2"$/.test(said))
  fail(`of three sub-queries: ${said}`);
const dry = await (await fetch(`${base}/api/query?${two}&explain`)).json();
const words = dry.queries.map(q => /^(.*) before \d+ are dropped \(retention\)$/.exec(q.warning)?.[1]).join();
if (words !== 'hourly values,raw points,raw points' || !(dry.queries[0].droppedBefore > 0))
  fail(`explain: ${JSON.stringify(dry.queries)}`);
const young = await (await fetch(`${base}/api/query?start=1h-ago&m=sum:whole&explain`)).json();
if ('warning' in young.queries[0]) fail(`explain: ${JSON.stringify(young)}`);
const tool = spawnSync(halite, ['query', '--server', base.slice(7), '60d-ago', 'sum', 'whole', 'sum', 'decimal'], { encoding: 'utf8' });
if (tool.status !== 0 || !tool.stdout.includes('whole ') ||
  !/^warning: whole: raw points before \d+ are dropped \(retention\)\nwarning: decimal: raw points/m.test(tool.stderr))
  fail(`halite query: ${tool.status} ${tool.stderr}`);
// A first rate, and an interpolation, need the bucket before the start.
const cut = Number(/raw points before (\d+)/.exec(said)[1]);
const days = [5, 6, 9, 11, 13].find(n => cut % (n * day) !== 0);
for (const [m, warns] of [[`rate:${days}d-dev:whole{host=a}`, true], [`${days}d-dev:whole{host=a}`, false],
  [`${days}d-dev:whole`, true], [`${days}d-dev-nan:whole`, false], [`rate:${days}d-avg:whole{host=a}`, false]]) {
  const a = await answer(`/api/query?start=${cut + 3600}&m=${encodeURIComponent(`sum:${m}`)}`);
  if (a.warns !== warns || a.text === '[]') fail(`${m} from an hour after the cut: ${a.warns}`);
}
await stop();
execFileSync(halite, ['fsck', `--data=${root}/store`], { stdio: ['ignore', 'inherit', 'inherit'] });
console.log(`${plans.length} queries, ${last} rows dropped`);

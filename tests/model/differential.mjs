/*
 * The whole server against the model: random series and points, put in random
 * order over telnet and HTTP, random queries, each answer compared number for
 * number with model.mjs and with a plain matcher of filters and groups.
 *
 *     node tests/model/differential.mjs HALITE [SECONDS]
 *
 * Each round asks three servers, which must agree: one in memory with 16 salt
 * buckets; one on disk with one bucket, restarted between loading and asking; one
 * on disk without salt, killed half-way through loading, with a head so small that
 * it seals all the time.  HALITE_SEED repeats a run.
 */
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { AGGREGATORS, run, UNITS } from './model.mjs';

const [halite, seconds] = process.argv.slice(2);
const until = Date.now() + 1000 * Number(seconds ?? 20);
const LONG_MAX = 2n ** 63n - 1n;
const UNIT_MS = [1, 1e3, 6e4, 36e5, 864e5, 6048e5, 2592e6, 31536e6];
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'halite-differential-'));
const servers = new Set();
process.on('exit', () => {
  for (const s of servers) s.process.kill('SIGKILL');
  fs.rmSync(dir, { recursive: true, force: true });
});

let state = BigInt(process.env.HALITE_SEED || Date.now() % 1000000007);
console.log(`seed ${state} (HALITE_SEED=${state} repeats this run)`);
function random64() {
  state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n);
  let z = state;
  z = BigInt.asUintN(64, (z ^ z >> 30n) * 0xbf58476d1ce4e5b9n);
  z = BigInt.asUintN(64, (z ^ z >> 27n) * 0x94d049bb133111ebn);
  return z ^ z >> 31n;
}
const below = n => Number(random64() % BigInt(n));
const pick = list => list[below(list.length)];
const chance = percent => below(100) < percent;
function shuffle(list) {
  for (let i = list.length - 1; i > 0; i--) {
    const k = below(i + 1);
    [list[i], list[k]] = [list[k], list[i]];
  }
  return list;
}
function fail(why) {
  console.log(`FAILED: ${why}`);
  process.exit(1);
}

/* -- servers --------------------------------------------------------------- */

async function start(words) {
  const s = { words, port: 0, text: '' };
  s.process = spawn(halite, ['tsd', '--bind', '127.0.0.1', '--port', '0', ...words],
    { stdio: ['ignore', 'ignore', 'pipe'] });
  servers.add(s);
  s.gone = new Promise(r => s.process.on('exit', (code, signal) => { servers.delete(s); r(code ?? signal); }));
  await new Promise(resolve => {
    s.process.stderr.on('data', d => {
      s.text += d;
      const m = /listening on \S+:(\d+)/.exec(s.text);
      if (m && !s.port) { s.port = Number(m[1]); resolve(); }
    });
    s.gone.then(how => { if (!s.port) fail(`the server ended with ${how}: ${s.text}`); });
  });
  return s;
}
async function stop(s, signal = 'SIGTERM') {
  s.process.kill(signal);
  const how = await s.gone;
  if (signal === 'SIGTERM' && how !== 0) fail(`a stop ended with ${how}: ${s.text}`);
}
function ask(s, method, p, body) {
  return new Promise((resolve, reject) => {
    const r = http.request({ host: '127.0.0.1', port: s.port, method, path: p, agent: false }, m => {
      let text = '';
      m.on('data', d => { text += d; });
      m.on('end', () => resolve({ status: m.statusCode, text }));
    });
    r.on('error', reject);
    r.end(body);
  });
}
function say(s, lines) {
  return new Promise((resolve, reject) => {
    const c = net.connect(s.port, '127.0.0.1');
    let heard = '';
    c.on('error', reject);
    c.on('data', d => { heard += d; });
    c.on('close', () => resolve(heard));
    c.end(lines.join(''));
  });
}

/* -- a world: series and their points -------------------------------------- */

const KEYS = ['host', 'dc', 'owner'];
const VALUES = ['web01', 'web02', 'db01', 'db02', 'lga', 'sjc', 'Kim', 'jo', 'x-1'];
const NUMBERS = [
  () => BigInt(below(100)), () => BigInt(below(2000)) - 1000n, () => BigInt.asIntN(62, random64()),
  () => below(20000) / 100 - 100, () => chance(50) ? BigInt(below(50)) : below(500) / 10 + 0.05,
];

function makeWorld() {
  const base = pick([1356998400e3, 1414303200e3, 1711846800e3, 2147480000e3]) + below(3600) * 1000;
  const world = { base, step: pick([500, 1000, 10000, 60000, 600000]), series: [], metrics: ['m.one', 'm.two'] };
  const known = new Set();
  const count = 1 + below(14);
  for (let i = 0; i < count; i++) {
    const tags = {};
    for (const k of KEYS) if (k === 'host' || chance(60)) tags[k] = pick(VALUES);
    const metric = pick(world.metrics), id = metric + JSON.stringify(tags);
    if (known.has(id)) continue;
    known.add(id);
    const points = new Map(), value = pick(NUMBERS), length = 1 + below(60);
    let ts = base + below(5) * world.step;
    for (let k = 0; k < length; k++) {
      ts += world.step * (chance(20) ? 1 + below(15) : 1);
      points.set(ts + (chance(20) ? below(world.step) : 0), value());
    }
    world.series.push({ metric, tags, points });
  }
  /* Ids are assigned in this order, so the order of TSUIDs is known. */
  for (const s of world.series)
    s.order = KEYS.filter(k => k in s.tags).map(k => [KEYS.indexOf(k), VALUES.indexOf(s.tags[k])]);
  world.series.sort((a, b) => compareOrder(a.order.flat(), b.order.flat()));
  return world;
}
function compareOrder(a, b) {
  for (let i = 0; i < Math.min(a.length, b.length); i++) if (a[i] !== b[i]) return a[i] - b[i];
  return a.length - b.length;
}

const printed = v => typeof v === 'bigint' ? String(v) : Number.isInteger(v) ? v.toFixed(1) : String(v);
const stamp = ts => ts % 1000 === 0 && ts / 1000 < 2 ** 32 && chance(70) ? ts / 1000 : ts;

/* All points, shuffled; before them some of the same times with another value,
 * which must lose: the last write wins. */
function pointsOf(world) {
  const early = [], points = [];
  for (const x of world.series) for (const [ts, v] of x.points) {
    points.push({ x, ts, v });
    if (chance(10)) early.push({ x, ts, v: -7n });
  }
  return [...early, ...shuffle(points)];
}
async function put(s, points) {
  for (let at = 0; at < points.length;) {
    const some = points.slice(at, at += 1 + below(200));
    if (chance(50)) {
      const heard = await say(s, some.map(({ x, ts, v }) =>
        `put ${x.metric} ${stamp(ts)} ${printed(v)} ${Object.entries(x.tags).map(([k, t]) => `${k}=${t}`).join(' ')}\n`));
      if (heard !== '') fail(`telnet said ${heard}`);
    } else {
      const a = await ask(s, 'POST', '/api/put?details', '[' + some.map(({ x, ts, v }) =>
        `{"metric":"${x.metric}","timestamp":${stamp(ts)},"value":${printed(v)},"tags":${JSON.stringify(x.tags)}}`).join(',') + ']');
      if (a.status !== 200) fail(`put answered ${a.status} ${a.text}`);
    }
  }
}

/* -- questions ------------------------------------------------------------- */

const NAMES = Object.keys(AGGREGATORS);
const ZONES = ['UTC', 'UTC', 'Asia/Kolkata', 'America/New_York', 'Europe/Berlin'];

function makeFilter(key, groupBy) {
  const list = shuffle([...VALUES]).slice(0, 1 + below(3)), prefix = pick(['w', 'd', 'web0', 'l']);
  return { tagk: key, groupBy, ...pick([
    { type: 'wildcard', filter: '*', test: () => true },
    { type: 'literal_or', filter: list.join('|'), test: v => list.includes(v) },
    { type: 'not_literal_or', filter: list.join('|'), test: v => !list.includes(v) },
    { type: 'iliteral_or', filter: list.join('|').toUpperCase(), test: v => list.some(l => l.toLowerCase() === v.toLowerCase()) },
    { type: 'wildcard', filter: `${prefix}*`, test: v => v.startsWith(prefix) },
    { type: 'regexp', filter: `0[${below(2)}-2]`, test(v) { return new RegExp(this.filter).test(v); } },
  ]) };
}

function makeDownsample(range) {
  const fill = pick(['none', 'zero', 'nan', 'null']), aggregator = pick(NAMES.filter(n => n !== 'none'));
  if (chance(15))
    return { all: true, ms: 0, count: 0, unit: 0, calendar: false, zone: 'UTC', fill, aggregator, text: `0all-${aggregator}-${fill}` };
  for (;;) {
    const unit = below(8), count = 1 + below(unit === 0 ? 900 : unit === 5 ? 2 : 40), ms = UNIT_MS[unit] * count;
    if (range / ms >= 300 || ms >= range * 40 + 864e5) continue;
    const calendar = chance(25);
    return { all: false, ms, count, unit, calendar, zone: 'UTC', fill, aggregator,
      text: `${count}${UNITS[unit]}${calendar ? 'c' : ''}-${aggregator}-${fill}` };
  }
}

function makeQuestion(world) {
  const span = world.step * 80, zone = pick(ZONES);
  const startTs = world.base - world.step * 5 + below(span), end = startTs + 1 + below(span * 2);
  const q = { start: startTs, end, zone, aggregator: pick(NAMES), metric: pick(world.metrics), filters: [], explicit: chance(15) };
  for (const k of KEYS) if (chance(40)) q.filters.push(makeFilter(k, chance(60)));
  if (chance(50)) { q.ds = makeDownsample(end - startTs + 7200e3); q.ds.zone = zone; }
  if (chance(35))
    q.rate = { counter: chance(60), max: chance(50) ? LONG_MAX : BigInt(below(1000)), reset: chance(60) ? 0n : BigInt(below(100)), drop: chance(30) };
  return q;
}

function bodyOf(q) {
  const sub = { aggregator: q.aggregator, metric: q.metric, filters: q.filters.map(({ tagk, type, filter, groupBy }) => ({ tagk, type, filter, groupBy })), explicitTags: q.explicit };
  if (q.ds) sub.downsample = q.ds.text;
  let text = JSON.stringify({ start: q.start, end: q.end, timezone: q.zone, msResolution: true, queries: [sub] });
  if (q.rate) {
    const options = `"rate":true,"rateOptions":{"counter":${q.rate.counter},"counterMax":${q.rate.max},"resetValue":${q.rate.reset},"dropResets":${q.rate.drop}},`;
    text = text.replace('"aggregator"', options + '"aggregator"');
  }
  return text;
}

/* What the answer should be: { status } or { groups: [{ tags, aggregateTags, dps }] } */
function expected(world, q) {
  const hour = run({ ...q, spans: [] });
  const used = world.series.filter(s => world.used.has(s.metric));
  if (!used.some(s => s.metric === q.metric)) return { status: 400 };
  for (const f of q.filters)
    if (!world.keys.has(f.tagk) || (f.type === 'literal_or' && f.filter.split('|').some(v => !world.values.has(v)))) return { status: 400 };
  const wanted = world.series.filter(s => s.metric === q.metric &&
    q.filters.every(f => f.tagk in s.tags && f.test(s.tags[f.tagk])) &&
    (!q.explicit || q.filters.length === 0 || Object.keys(s.tags).length === new Set(q.filters.map(f => f.tagk)).size) &&
    [...s.points.keys()].some(t => t >= hour.from * 1000 && t < (hour.to + 3600) * 1000));
  const by = KEYS.filter(k => q.filters.some(f => f.tagk === k && f.groupBy));
  const groups = new Map();
  wanted.forEach((s, i) => {
    const key = q.aggregator === 'none' ? [i] : by.map(k => VALUES.indexOf(s.tags[k]));
    const id = key.join();
    if (!groups.has(id)) groups.set(id, { key, series: [] });
    groups.get(id).series.push(s);
  });
  const out = [];
  for (const g of [...groups.values()].sort((a, b) => compareOrder(a.key, b.key))) {
    const tags = {}, differ = new Set();
    for (const s of g.series) for (const [k, v] of Object.entries(s.tags)) {
      if (k in tags && tags[k] !== v) differ.add(k);
      tags[k] ??= v;
    }
    for (const k of differ) delete tags[k];
    const r = run({ ...q, spans: g.series.map(s => [...s.points].sort((a, b) => a[0] - b[0]).map(([ts, v]) => ({ ts, v }))) });
    if (r.error) return { status: 400 };
    out.push({ tags, aggregateTags: [...differ].sort(), dps: r.dps });
  }
  return { status: 200, groups: out };
}

const same = (v, text) => v === null ? text === null
  : typeof v === 'bigint' ? text === String(v)
    : Number.isNaN(v) ? text === 'NaN' : /[.E]/.test(text) && Object.is(Number(text), v);

function difference(want, got) {
  if (want.status !== got.status) return `status ${got.status}, the model says ${want.status}: ${got.text.slice(0, 300)}`;
  if (want.status !== 200) return '';
  const groups = JSON.parse(got.text.replace(/":(-?[0-9][0-9.eE+-]*)/g, '":"$1"'));
  if (groups.length !== want.groups.length) return `${groups.length} groups, the model has ${want.groups.length}`;
  for (let i = 0; i < groups.length; i++) {
    const g = groups[i], w = want.groups[i];
    const sorted = o => JSON.stringify(Object.entries(o).sort());
    if (sorted(g.tags) !== sorted(w.tags)) return `group ${i}: tags ${sorted(g.tags)}, the model has ${sorted(w.tags)}`;
    if (JSON.stringify([...g.aggregateTags].sort()) !== JSON.stringify(w.aggregateTags)) return `group ${i}: aggregateTags ${g.aggregateTags}`;
    const dps = Object.entries(g.dps);
    compared += dps.length;
    for (let k = 0; k < Math.max(dps.length, w.dps.length); k++) {
      const [t, v] = dps[k] ?? [], p = w.dps[k];
      if (p === undefined || t === undefined || Number(t) !== p.ts || !same(p.v, v))
        return `group ${i}, point ${k}: ${t}=${v}, the model has ${p && `${p.ts}=${typeof p.v === 'bigint' ? p.v : printed(p.v)}`}`;
    }
  }
  return '';
}

/* -- rounds ---------------------------------------------------------------- */

async function assign(s) {
  const a = await ask(s, 'POST', '/api/uid/assign', JSON.stringify({ tagk: KEYS, tagv: VALUES }));
  if (a.status !== 200) fail(`assign answered ${a.status} ${a.text}`);
}

async function round(n) {
  const world = makeWorld();
  world.used = new Set(world.series.map(s => s.metric));
  world.keys = new Set(KEYS);
  world.values = new Set(VALUES);
  const points = pointsOf(world);
  const half = points.length >> 1;
  const one = path.join(dir, `one${n}`), none = path.join(dir, `none${n}`);
  const inMemory = await start(['--memory']);
  await assign(inMemory);
  await put(inMemory, points);
  const oneWords = ['--data', one, 'tsd.storage.salt.width=1', 'tsd.storage.salt.buckets=1'];
  let onDisk = await start(oneWords);
  await assign(onDisk);
  await put(onDisk, points);
  await stop(onDisk);
  onDisk = await start(oneWords);
  const noneWords = ['--data', none, 'tsd.storage.salt.width=0', 'halite.store.head_bytes=1M', 'halite.store.seal_delay_ms=1'];
  let unsalted = await start(noneWords);
  await assign(unsalted);
  await put(unsalted, points.slice(0, half));
  await stop(unsalted, 'SIGKILL');
  unsalted = await start(noneWords);
  await put(unsalted, points.slice(half));
  const all = [inMemory, onDisk, unsalted];
  for (let i = 0; i < 60 && Date.now() < until; i++) {
    const q = makeQuestion(world), body = bodyOf(q), want = expected(world, q);
    const got = await Promise.all(all.map(s => ask(s, 'POST', '/api/query', body)));
    for (let k = 0; k < all.length; k++) {
      const why = difference(want, got[k]);
      if (why) {
        console.log(`server: ${all[k].words.join(' ')}\nquery: ${body}`);
        for (const s of world.series) if (s.metric === q.metric)
          console.log(JSON.stringify(s.tags), [...s.points].sort((a, b) => a[0] - b[0]).map(([t, v]) => `${t}=${printed(v)}`).join(' ').slice(0, 3000));
        fail(why);
      }
    }
    questions++;
  }
  for (const s of all) await stop(s);
}

let rounds = 0, questions = 0, compared = 0;
while (Date.now() < until) await round(rounds++);
console.log(`${rounds} rounds, ${questions} queries to 3 servers each, ${compared} points, no difference`);

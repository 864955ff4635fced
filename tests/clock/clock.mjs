// clock.mjs HALITE [SECONDS]: months of life in minutes, compared with a model.
//
// A server whose clock this program moves (clock.c) gets live, late and repeated points, batches that a
// client sends again, deletions; it flushes, sums weeks up, drops what expired by three policies, is
// stopped, killed, away for weeks, backed up. Its clock goes on in steps, jumps ahead, goes back. After
// each step answers are compared with what was acknowledged:
//
//   - a point that was acknowledged is in the answers, unless a policy and a clock that the server had
//     reason to believe allowed it to be dropped;
//   - a point that was rejected is not, and there was a reason for the rejection;
//   - a clock is doubted when it must be, and believed when it must be;
//   - what expired is gone in the end.
//
// HALITE_SEED repeats a run. Each round begins with the same scenes in an order of its own, and goes on
// at random.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Random, seedOfRun } from '../random.mjs';

const halite = path.resolve(process.argv[2]), seconds = Number(process.argv[3] ?? 20);
const firstSeed = seedOfRun();
const here = path.dirname(new URL(import.meta.url).pathname);
const HOUR = 3600, DAY = 86400, WEEK = 7 * DAY, SPAN = 6 * HOUR;
const RAW = { k: Infinity, r: 3 * DAY, h: 4 * DAY }, KEPT = { k: Infinity, r: 3 * DAY, h: 40 * DAY };
const DOUBT = 3 * DAY; // the shortest RAW
// How long a step may take on a loaded machine (s): no verdict depends on how fast this one is.
const SLOW = 300;
const CONFIRM_MS = 400, HOSTS = ['a', 'b', 'c'];
const settings = ['halite.retention=r.* 3d; h.* 4d 40d', 'halite.retention.interval_ms=100',
    ...spawnSync(halite, ['tsd', '--help-markdown'], { encoding: 'utf8' }).stdout.includes('halite.retention.confirm_ms') ? [`halite.retention.confirm_ms=${CONFIRM_MS}`] : [],
    'halite.store.summary_delay_ms=20', 'halite.store.seal_delay_ms=1',
    'halite.store.encode_delay_ms=50', 'halite.store.head_bytes=1M', 'halite.store.min_free_bytes=1', 'tsd.http.query.allow_delete=true'];

const where = fs.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir();
const root = fs.mkdtempSync(path.join(where, 'halite-clock-'));
const running = new Set();
process.on('exit', () => {
    for (const s of running) s.process.kill('SIGKILL');
    if (!process.env.KEEP) fs.rmSync(root, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

const library = path.join(root, 'clock.so');
const made = spawnSync(process.env.CC ?? 'cc', ['-O1', '-shared', '-fPIC', '-o', library, path.join(here, 'clock.c')], { encoding: 'utf8' });
if (made.status !== 0) {
    console.log(`skipped: no compiler for clock.c: ${made.error ?? made.stderr}`);
    process.exit(77);
}

let seed, chances, trail = [];
const below = (n) => chances.below(n);
const between = (a, b) => a + below(Math.max(1, Math.floor(b - a)));
const pick = (list) => list[below(list.length)];
const sleep = (ms) => new Promise((r) => setTimeout(r, ms));
const floor = (t, n) => Math.floor(t / n) * n;
const date = (t) => new Date(t * 1000).toISOString().slice(0, 16);
function fail(why) {
    console.error(`FAILED: ${why}\nwhat went before:\n  ${trail.slice(-25).join('\n  ')}\n${world?.server?.log.split('\n').slice(-12).join('\n')}`);
    console.error(`HALITE_SEED=${seed}`);
    process.exit(1);
}
function note(text) {
    trail.push(`${date(now())} ${text}`);
    if (process.env.V) console.log(trail.at(-1));
}

// -- the clock ----------------------------------------------------------------
const clockFile = path.join(root, 'moved');
fs.writeFileSync(clockFile, Buffer.alloc(8));
const clockFd = fs.openSync(clockFile, 'r+');
let movedMs = 0;
const nowMs = () => Date.now() + movedMs;
const now = () => Math.floor(nowMs() / 1000);
function setClock(t) {
    const bytes = Buffer.alloc(8);
    movedMs = Math.round(t * 1000 - Date.now());
    bytes.writeBigInt64LE(BigInt(movedMs) * 1000000n);
    fs.writeSync(clockFd, bytes, 0, 8, 0);
}

// -- the server ---------------------------------------------------------------
async function start(dir) {
    const s = { log: '', port: 0 };
    // A program that was built with AddressSanitizer starts beside the library, too.
    const sanitizer = `${process.env.ASAN_OPTIONS ? `${process.env.ASAN_OPTIONS}:` : ''}verify_asan_link_order=0`;
    s.process = spawn(halite, ['tsd', '--bind', '127.0.0.1', '--port', '0', '--data', dir, ...settings],
        { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, LD_PRELOAD: library, HALITE_CLOCK: clockFile, ASAN_OPTIONS: sanitizer } });
    running.add(s);
    s.gone = new Promise((r) => s.process.on('exit', (code, signal) => { running.delete(s); r(signal ?? code); }));
    await new Promise((resolve) => {
        s.process.stderr.on('data', (d) => {
            s.log += d;
            const m = /listening on \S+:(\d+)/.exec(s.log);
            if (m && !s.port) { s.port = Number(m[1]); resolve(); }
        });
        s.gone.then(resolve);
    });
    if (!s.port) { console.error(s.log); fail('the server does not start'); }
    return s;
}
async function ask(s, method, url, body) {
    const r = await fetch(`http://127.0.0.1:${s.port}${url}`, { method, body: body === undefined ? undefined : JSON.stringify(body) });
    const text = await r.text();
    let json; try { json = JSON.parse(text); } catch { }
    return { status: r.status, text, json, warning: r.headers.get('warning') };
}

// -- the model ----------------------------------------------------------------
// 'believed': the latest clock that the server may have believed since the metrics began; 'passed': that of
// a pass that has ended since, by which old points must be rejected; 'ref': that of the last pass that
// believed it; 'doubted': it must be.
let world;
class Metrics {
    constructor(generation) {
        this.name = { k: `k.m${generation}`, r: `r.m${generation}`, h: `h.m${generation}` };
        this.points = { k: {}, r: {}, h: {} };
        for (const kind of 'krh') for (const host of HOSTS) this.points[kind][host] = new Map();
        this.believed = now();
    }
    inHour(kind, host, t) {
        for (const x of this.points[kind][host].keys()) if (floor(x, HOUR) === floor(t, HOUR)) return true;
        return false;
    }
}
const expiredBefore = (kind, t) => floor(t - KEPT[kind], SPAN);
function believe(t = now()) { // from here on the server may believe it
    world.m.believed = Math.max(world.m.believed, t + SLOW);
}

// One pass began and ended since.
async function pass(s = world.server) {
    let last, changes = 0;
    for (const until = Date.now() + SLOW * 1000; changes < 3;) {
        const r = (await ask(s, 'GET', '/api/retention')).json;
        if (r.failure) fail(`a pass fails: ${r.failure}`);
        if (last !== undefined && r.lastPass !== last) changes++;
        last = r.lastPass;
        if (Date.now() > until) fail('no pass has ended for long');
        if (changes < 3) await sleep(25);
        else return r;
    }
}
// The state of the clock is as it must be.
async function passAs(doubted) {
    if (!doubted) believe();
    const from = now(), r = await pass();
    if (r.clock !== undefined && (r.clock === 'doubted') !== doubted)
        fail(`the clock ${date(now())} is ${r.clock}; the last pass was at ${date(world.ref)}`);
    world.doubted = doubted;
    if (doubted) return;
    world.ref = now();
    world.passed = from; // or later
}

// -- steps --------------------------------------------------------------------
const value = (host) => host === 'c' ? below(4000) / 4 : below(1000) - 300;
function makePoints(kind, host, from, to, step) {
    const list = [];
    for (let t = Math.floor(from); t < to; t += step) list.push({ kind, host, t, v: value(host) });
    return list;
}
async function put(points, what) {
    const m = world.m, byKey = new Map();
    for (let at = 0; at < points.length; at += 400) {
        const part = points.slice(at, at + 400);
        const body = part.map((p) => ({ metric: m.name[p.kind], timestamp: p.t, value: p.v, tags: { host: p.host } }));
        const r = await ask(world.server, 'POST', '/api/put?details', body);
        if (r.json?.success === undefined) fail(`put: ${r.status} ${r.text}`);
        const rejected = new Map();
        for (const x of r.json.errors)
            rejected.set(`${x.datapoint.metric} ${x.datapoint.tags.host} ${x.datapoint.timestamp}`, x.error);
        if (r.json.failed !== rejected.size) fail(`${r.json.failed} points failed, ${rejected.size} are named`);
        for (const p of part) {
            const why = rejected.get(`${m.name[p.kind]} ${p.host} ${p.t}`);
            if (why === undefined) accept(p); else reject(p, why);
        }
    }
    note(`${what}: ${points.length} points of ${points[0]?.kind} ${points[0]?.host}, ${points.length && date(points[0].t)} to ${points.length && date(points.at(-1).t)}`);
}
const believedNow = () => world.doubted === false ? world.passed : -Infinity;
// The limit that the last pass set.
function accept(p) {
    const old = p.kind !== 'k' && floor(p.t, HOUR) < expiredBefore(p.kind, believedNow());
    if (old) fail(`a point of ${p.kind} at ${date(p.t)}, which is expired, is accepted at ${date(now())}`);
    world.m.points[p.kind][p.host].set(p.t, p.v);
}
function reject(p, why) {
    const m = world.m;
    if (/retention policy/.test(why)) {
        if (world.doubted) fail(`a point at ${date(p.t)} is rejected as expired although the clock is doubted`);
        if (p.kind === 'k' || floor(p.t, HOUR) >= expiredBefore(p.kind, m.believed))
            fail(`a point of ${p.kind} at ${date(p.t)} is rejected at ${date(now())}: ${why}`);
    } else if (/hourly values stay/.test(why)) {
        if (p.kind !== 'h' || p.t >= m.believed - RAW.h || !m.inHour('h', p.host, p.t))
            fail(`a point of ${p.kind} at ${date(p.t)} is rejected at ${date(now())}, and its hour has no point: ${why}`);
    } else {
        fail(`a point of ${p.kind} at ${date(p.t)} is rejected: ${why}`);
    }
}

// A head of 1 MB that is filled is flushed, the rows that were made first before the others.
async function flush() {
    for (let n = 0; n < 2; n++) {
        const points = [];
        for (let i = 0; i < 4000; i++)
            points.push({ metric: 'filler', timestamp: now() - (1 + Math.floor(i / 20)) * HOUR, value: i, tags: { host: `f${n}${i % 20}` } });
        const r = await ask(world.server, 'POST', '/api/put', points);
        if (r.status !== 204) fail(`put: ${r.status} ${r.text}`);
    }
    await sleep(100);
    note('flush');
}
async function live() {
    for (const kind of 'krh') for (const host of HOSTS)
        await put(makePoints(kind, host, now() - between(600, 3 * HOUR), now(), between(300, 1200)), 'live');
}
async function late(kind = pick(['k', 'r', 'h', 'h', 'h']), days = 45) {
    const from = now() - between(HOUR, days * DAY);
    await put(makePoints(kind, pick(HOSTS), from, Math.min(now(), from + between(HOUR, 8 * DAY)), between(900, 2 * HOUR)), 'late');
}
// What a client sends again, some of it with other values, in another order.
async function again() {
    const kind = pick(['k', 'r', 'h', 'h']), host = pick(HOSTS), times = [...world.m.points[kind][host].keys()];
    if (times.length === 0) return;
    const list = [];
    for (let n = between(1, 60); n > 0; n--) {
        const t = pick(times);
        if (t <= now() && !list.some((p) => p.t === t))
            list.push({ kind, host, t, v: below(2) ? world.m.points[kind][host].get(t) : value(host) });
    }
    if (list.length) await put(list, 'again');
}
// Of hourly values whole days are deleted, whether their rows are there or not.
async function remove() {
    const kind = pick(['k', 'r', 'h', 'h']), host = pick(HOSTS), m = world.m;
    let from = now() - between(HOUR, 35 * DAY), to = from + between(60, 2 * DAY);
    if (kind === 'h') [from, to] = [floor(from, DAY), floor(from, DAY) + between(1, 3) * DAY - 1];
    const q = kind === 'h' ? 'sum:1d-sum' : 'none';
    const r = await ask(world.server, 'DELETE', `/api/query?start=${from}000&end=${to}999&m=${q}:${m.name[kind]}{host=${host}}`);
    if (r.status !== 200 && !/[Nn]o such|unknown/.test(r.text)) fail(`DELETE: ${r.status} ${r.text}`);
    for (const t of m.points[kind][host].keys()) if (t >= from && t <= to) m.points[kind][host].delete(t);
    note(`delete ${kind} ${host} ${date(from)} to ${date(to)}`);
}
async function tick(most = 30 * HOUR) {
    const to = now() + between(60, most);
    setClock(to);
    note('the clock goes on');
    if (to - world.ref < DOUBT) believe();
    if (below(3) === 0) await late();
    await passAs(false);
}
async function restart(signal, downtime) {
    if (signal === 'SIGKILL' && below(2) === 0) await late();
    world.server.process.kill(signal);
    await world.server.gone;
    setClock(now() + downtime);
    note(`${signal}, away for ${(downtime / HOUR).toFixed(1)} hours`);
    if (now() - world.ref < DOUBT) believe();
    world.doubted = undefined; // until a pass says so
    world.server = await start(world.dir);
}
// The clock is far ahead: it stays so, is confirmed, or comes back.
async function doubted() {
    await passAs(true);
    if (below(2) === 0) await late();
    if (below(2) === 0) await flush();
    await check();
    await pass();
}
async function evidence() {
    for (const until = Date.now() + 1.5 * CONFIRM_MS; Date.now() < until; await sleep(50))
        await ask(world.server, 'POST', '/api/put', { metric: 'evidence', timestamp: now() + 7200, value: 1, tags: { a: 'b' } });
    await passAs(true);
    believe();
    // On a loaded machine that may be one request in CONFIRM_MS.
    for (const until = Date.now() + SLOW * 1000; (await ask(world.server, 'GET', '/api/retention')).json.clock === 'doubted'; await sleep(50)) {
        if (Date.now() > until) fail('points near the clock come, and it is doubted');
        await ask(world.server, 'POST', '/api/put', { metric: 'evidence', timestamp: now() - 5, value: 1, tags: { a: 'b' } });
    }
    note('points near the clock came');
    await passAs(false);
}
async function confirm() {
    believe();
    const r = await ask(world.server, 'PUT', '/api/retention', { confirmClock: true });
    if (r.status !== 200) fail(`PUT: ${r.status} ${r.text}`);
    note('the clock is confirmed');
    await passAs(false);
}
async function jump() {
    await live(); // rows that are open
    const ref = now();
    setClock(ref + between(DOUBT + 2 * HOUR, below(3) === 0 ? 4000 * DAY : 25 * DAY));
    note('the clock jumps ahead');
    await doubted();
    if (now() - ref > 26 * DAY || below(3) === 0) {
        setClock(ref + between(0, HOUR));
        note('the clock comes back');
        await passAs(false);
    } else {
        await (below(2) ? evidence : confirm)();
    }
}
async function away() {
    await live();
    if (below(2)) await late('h');
    await restart('SIGKILL', between(DOUBT + 2 * HOUR, 25 * DAY));
    await doubted();
    await (below(2) ? evidence : confirm)();
}
async function backwards() {
    const ref = now();
    let back = between(60, below(2) ? 300 * DAY : 5 * HOUR);
    if (Math.abs(back - DOUBT) < HOUR) back += 2 * HOUR; // too close to tell
    setClock(ref - back);
    note('the clock goes back');
    await passAs(false);
    if (below(2)) await live();
    await check();
    const far = back > DOUBT;
    setClock(ref + 60);
    note('and forth');
    if (!far) { believe(); return passAs(false); }
    await passAs(true);
    return confirm();
}
// A week's second portion comes after its first was summed up, and its rows may be dropped.
async function portions() {
    const week = floor(now() - between(9 * DAY, 30 * DAY), WEEK), host = pick(HOSTS), step = between(900, 2 * HOUR);
    const cut = week + between(DAY, 6 * DAY);
    await put(makePoints('h', host, week, cut, step), 'first portion');
    await flush();
    // Points of the same hours are in the head while rows of their week can be dropped.
    if (below(2)) await put(makePoints('h', host, week + 431, cut, HOUR), 'the same hours');
    await pass();
    await sleep(pick([100, 400, 800]));
    await pass();
    await put(makePoints('h', host, floor(cut, HOUR) + HOUR, week + WEEK, step), 'second portion');
}
// History that is longer than a pass, series by series or time by time, while weeks are summed up.
async function history() {
    const from = now() - between(25 * DAY, 38 * DAY), byTime = below(2) === 0;
    const list = HOSTS.flatMap((host) => makePoints('h', host, from, from + 14 * DAY, 3 * HOUR + 7));
    if (byTime) list.sort((a, b) => a.t - b.t);
    for (let at = 0; at < list.length; at += 100) {
        await put(list.slice(at, at + 100), 'history');
        if (below(3) === 0) await flush();
        await sleep(below(40));
    }
}
async function backup() {
    const dest = path.join(root, 'backup'), s = world.server;
    fs.rmSync(dest, { recursive: true, force: true });
    const r = spawnSync(halite, ['backup', '--server', `127.0.0.1:${s.port}`, dest], { encoding: 'utf8' });
    if (r.status !== 0) fail(`backup: ${r.stderr}`);
    note('backup');
    const copy = await start(dest);
    note(`the backup is served at ${copy.port}`);
    await check(copy);
    copy.process.kill('SIGTERM');
    await copy.gone;
    fs.rmSync(dest, { recursive: true, force: true });
}

// -- answers ------------------------------------------------------------------
const FUNCTIONS = {
    sum: (v) => v.reduce((a, b) => a + b, 0), count: (v) => v.length, min: (v) => Math.min(...v), max: (v) => Math.max(...v),
    first: (v) => v[0], last: (v) => v.at(-1),
};
async function answer(s, url) {
    const r = await ask(s, 'GET', `/api/query?${url}`), hosts = {};
    if (r.status === 400 && /[Nn]o such/.test(r.text)) return {};
    if (r.status !== 200) fail(`${url}: ${r.status} ${r.text.slice(0, 500)}`);
    for (const group of r.json) hosts[group.tags.host] = group.dps;
    return hosts;
}
// All that must be there is there; what is there is what was acknowledged.
function compare(got, want, from, what) {
    for (const [t, v] of want) if (t >= from && got[t] !== v)
        fail(`${what} at ${date(t)} (${t}): ${got[t]}, not ${v}`);
    for (const t in got) if (want.get(Number(t)) !== got[t])
        fail(`${what} at ${date(t)} (${t}): ${got[t]}, which was never acknowledged, or is deleted; the model has ${want.get(Number(t))}`);
}
async function check(s = world.server) {
    const m = world.m, { first, end } = world;
    for (const kind of 'krh') {
        const got = await answer(s, `start=${first}&end=${end}&m=sum:${m.name[kind]}{host=*}`);
        const from = kind === 'k' ? 0 : kind === 'r' ? expiredBefore('r', m.believed) : m.believed - RAW.h;
        for (const host of HOSTS) compare(got[host] ?? {}, m.points[kind][host], from, `raw ${kind} ${host}`);
    }
    for (let n = 0; n < 3; n++) {
        const f = n === 0 ? 'count' : pick(Object.keys(FUNCTIONS)), [unit, size] = pick([['1h', HOUR], ['6h', SPAN], ['1d', DAY]]);
        // What is older may be gone in part, so buckets begin behind it.
        const from = floor(m.believed - KEPT.h, DAY) + 2 * DAY, kind = n === 2 ? 'k' : 'h';
        const got = await answer(s, `start=${from}&end=${end}&m=sum:${unit}-${f}:${m.name[kind]}{host=*}`);
        for (const host of HOSTS) {
            const buckets = new Map(), want = new Map();
            for (const [t, v] of [...m.points[kind][host]].sort((a, b) => a[0] - b[0])) if (t >= from) {
                if (!buckets.has(floor(t, size))) buckets.set(floor(t, size), []);
                buckets.get(floor(t, size)).push(v);
            }
            for (const [t, list] of buckets) want.set(t, FUNCTIONS[f](list));
            compare(got[host] ?? {}, want, from, `${unit}-${f} of ${kind} ${host}`);
        }
    }
    world.checks++;
}

// What expired goes, once nothing holds it up.
async function allGone() {
    for (let n = 0; n < 5; n++) await tick(40 * HOUR);
    await flush();
    const m = world.m;
    const due = { r: expiredBefore('r', world.passed), h: floor(world.passed - RAW.h - 30 * HOUR, WEEK) };
    for (const until = Date.now() + SLOW * 1000; ;) {
        const left = [];
        for (const kind of 'rh')
            for (const [host, dps] of Object.entries(await answer(world.server, `start=${world.first}&end=${due[kind] - 1}&m=sum:${m.name[kind]}{host=*}`)))
                left.push(...Object.keys(dps).map((t) => `${kind} ${host} ${date(t)}`));
        if (left.length === 0) break;
        if (Date.now() > until) console.error((await ask(world.server, 'GET', '/api/retention')).text);
        if (Date.now() > until) fail(`${left.length} raw points are not dropped: ${left.slice(0, 5)} (at ${date(now())})`);
        await pass();
    }
    note('all that expired is gone');
    await check();
}
// A wrong clock was confirmed: everything may go. When it is right again, retention works as before.
async function wrong() {
    const ref = now();
    await live();
    setClock(ref + between(300, 3000) * DAY);
    note('a wrong clock');
    await passAs(true);
    await confirm();
    await pass();
    setClock(ref + 120);
    note('the clock is right again');
    await passAs(false);
    world.m = new Metrics(++world.generation);
    await live();
    await late('h', 30);
    await late('r', 2);
    await check();
    const r = await ask(world.server, 'GET', `/api/query?start=${now() - 100}&end=${now()}&m=sum:r.m${world.generation - 1}{host=*}`);
    if (r.warning) fail(`a query of the last seconds has a warning: ${r.warning}`);
}

// -- rounds -------------------------------------------------------------------
const scenes = [portions, portions, portions, portions, history, jump, away, backwards, backup, remove];
const steps = [live, live, late, late, late, again, again, remove, flush, flush, tick, tick, tick, portions,
    () => restart('SIGKILL', 0).then(() => passAs(false)), () => restart('SIGTERM', between(0, DAY)).then(() => passAs(false)),
    jump, away, backwards, backup];
async function round(untilMs) {
    chances = new Random(seed);
    trail = [];
    setClock(Date.UTC(2024, below(12), 1 + below(28)) / 1000 + below(DAY));
    world = { dir: path.join(root, `data-${seed}`), generation: 0, checks: 0, first: now() - 1000 * DAY, end: 4200000000, ref: now(), passed: -Infinity, doubted: false };
    world.m = new Metrics(0);
    world.server = await start(world.dir);
    await passAs(false);
    for (let n = 0; n < 6; n++) await late(n % 2 ? 'h' : undefined);
    const order = scenes.map((f) => [below(1000), f]).sort((a, b) => a[0] - b[0]).map((x) => x[1]);
    for (let n = 0; n < order.length || Date.now() < untilMs; n++) {
        await (order[n] ?? pick(steps))();
        await check();
        if (n % 40 === 39) await wrong();
    }
    await allGone();
    await wrong();
    await allGone();
    world.server.process.kill('SIGTERM');
    await world.server.gone;
    const r = spawnSync(halite, ['fsck', world.dir], { encoding: 'utf8' });
    if (r.status !== 0) fail(`fsck: ${r.status} ${r.stdout} ${r.stderr}`);
    fs.rmSync(world.dir, { recursive: true, force: true });
    return world.checks;
}

const end = Date.now() + seconds * 1000;
for (seed = firstSeed; Date.now() < end; seed++) {
    const from = Date.now();
    console.log(`seed ${seed} (HALITE_SEED=${seed} repeats it)`);
    const checks = await round(Math.min(end, from + 60000));
    console.log(`  ${checks} comparisons in ${((Date.now() - from) / 1000).toFixed(1)} s`);
}
process.exit(0);

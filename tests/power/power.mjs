// power.mjs HALITE DIR [CUTS] [MODE]: the power is cut, and what was acknowledged is there.
//
// For each sync mode a server is recorded by shim.c while five writers put points over
// HTTP and telnet, in and out of order, into series old and new, delete some and write
// annotations; it is stopped and started in between.  Then, at CUTS places of the record
// and by each model of disk.mjs, a server is started on what the disk may hold: it must
// open, and hold what the mode promises.  On one that lost pages another recording is
// made, and cut again: power fails while the damage of the last time is being mended.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { Disk, models, readRecord } from './disk.mjs';
import { Ledger } from './ledger.mjs';

const [halite, root, cutsArg, onlyMode] = process.argv.slice(2);
const cuts = Number(cutsArg ?? 300);
const seed = Number(process.env.HALITE_SEED ?? Date.now() % 1000000);
const long = cuts >= 50;
const T0 = 1735689600, SERIES = 6, BATCH = 60, SPAN = 4 * 3600;
const settings = ['halite.store.head_bytes=1M', 'halite.store.journal_segment_bytes=64K',
    'halite.store.seal_delay_ms=1', 'halite.store.journal_bytes=1M', 'halite.store.write_buffer_bytes=64K',
    'halite.sync.interval_ms=50', 'tsd.http.query.allow_delete=true'];

console.log(`seed ${seed} (HALITE_SEED=${seed} repeats the choices, though not the moments)`);
let state = BigInt(seed);
function random(n) { // splitmix64
    state = (state + 0x9e3779b97f4a7c15n) & 0xffffffffffffffffn;
    let z = state;
    z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & 0xffffffffffffffffn;
    z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & 0xffffffffffffffffn;
    return Number((z ^ (z >> 31n)) % BigInt(n));
}

let server = null, port = 0, log = '', kept = null;
process.on('exit', () => server?.kill('SIGKILL'));
function fail(why) {
    console.error(`FAILED: ${why}`);
    if (kept !== null) {
        const to = fs.mkdtempSync('/tmp/halite-power-kept-');
        fs.cpSync(kept, path.join(to, 'data'), { recursive: true });
        fs.writeFileSync(path.join(to, 'log'), log);
        console.error(`the folder, as the cut left it, is ${to}/data`);
    }
    process.exit(1);
}

// Resolves to true when it listens, to false when it ended before.
function start(dir, mode, record) {
    const env = { ...process.env };
    if (record !== undefined)
        Object.assign(env, { LD_PRELOAD: path.join(root, 'shim.so'), HALITE_POWER_DIR: dir, HALITE_POWER_LOG: record });
    return new Promise((resolve) => {
        log = '';
        port = 0;
        server = spawn(halite, ['tsd', '--bind', '127.0.0.1', '--port', '0', '--data', dir, `halite.sync=${mode}`, ...settings],
            { stdio: ['ignore', 'ignore', 'pipe'], env });
        server.gone = new Promise((r) => server.on('exit', (code, signal) => { r(code ?? signal); resolve(false); }));
        server.stderr.on('data', (d) => {
            log += d;
            const m = /listening on \S+:(\d+)/.exec(log);
            if (m && port === 0) { port = Number(m[1]); resolve(true); }
        });
    });
}
async function stop(signal) {
    server.kill(signal);
    const how = await server.gone;
    server = null;
    agent.destroy();
    agent = new http.Agent({ keepAlive: true });
    return how;
}

let agent = new http.Agent({ keepAlive: true });
function ask(method, where, body) {
    return new Promise((resolve, reject) => {
        const r = http.request({ host: '127.0.0.1', port, method, path: where, agent }, (a) => {
            let text = '';
            a.setEncoding('utf8');
            a.on('data', (d) => { text += d; });
            a.on('end', () => resolve({ status: a.statusCode, text }));
            a.on('error', reject);
        });
        r.on('error', reject);
        r.end(body === undefined ? undefined : JSON.stringify(body));
    });
}

// -- writing -------------------------------------------------------------------

let counter = 0;
// {ledger, now(): the place in the record, on}
function makeBatch(w, at, life) {
    const points = [];
    for (let i = 0; i < BATCH; i++) {
        const t = T0 + (i % 3 === 2 ? random(SPAN) : (at * 7 + i * 11) % SPAN), s = random(SERIES);
        const v = random(4) === 0 ? ++counter + 0.5 : ++counter;
        points.push({ metric: 'power.test', t, v, tags: { writer: `w${w}`, series: `s${s}` }, key: `w${w} s${s} ${t}` });
    }
    const id = `w${w}n${++counter}`;
    points.push({ metric: 'power.fresh', t: T0, v: counter, tags: { id }, key: `fresh ${id}` });
    return { points, versions: points.map((p) => life.ledger.send(p.key, p.v)) };
}
function acknowledge(versions, life) {
    const now = life.now();
    for (const v of versions) v.acked = now;
    life.batches++;
}
const put = (points) => ask('POST', '/api/put', points.map((p) => ({ metric: p.metric, timestamp: p.t, value: p.v, tags: p.tags })));

async function writeHttp(w, life) {
    for (let at = random(SPAN); life.on; at += BATCH) {
        const { points, versions } = makeBatch(w, at, life);
        const a = await put(points);
        if (a.status !== 204) fail(`put answered ${a.status} ${a.text.slice(0, 300)}`);
        acknowledge(versions, life);
    }
}
async function writeTelnet(w, life) {
    const socket = net.connect(port, '127.0.0.1');
    let answered = null;
    socket.on('error', () => {});
    socket.on('data', (d) => { if (/put:/.test(d)) fail(`telnet said ${d}`); if (/Built on/.test(d)) answered(); });
    for (let at = random(SPAN); life.on; at += BATCH) {
        const { points, versions } = makeBatch(w, at, life), answer = new Promise((r) => { answered = r; });
        const tags = (p) => Object.entries(p.tags).map(([k, v]) => `${k}=${v}`).join(' ');
        socket.write(points.map((p) => `put ${p.metric} ${p.t} ${p.v} ${tags(p)}\n`).join('') + 'version\n');
        await answer;
        acknowledge(versions, life);
    }
    socket.destroy();
}
// Puts a few points, deletes some of them, and writes a note.
async function change(life) {
    for (; life.on; counter++) {
        const t = T0 + random(SPAN / 100) * 100, points = [];
        for (let i = 0; i < 20; i++) points.push({ metric: 'power.gone', t: t + i, v: ++counter, tags: { a: 'b' }, key: `gone ${t + i}` });
        let versions = points.map((p) => life.ledger.send(p.key, p.v)), a = await put(points);
        if (a.status !== 204) fail(`put answered ${a.status} ${a.text.slice(0, 300)}`);
        acknowledge(versions, life);
        versions = points.slice(5, 15).map((p) => life.ledger.send(p.key, undefined));
        a = await ask('DELETE', `/api/query?start=${t + 5}&end=${t + 14}&m=none:power.gone`);
        if (a.status !== 200) fail(`a deletion answered ${a.status} ${a.text.slice(0, 300)}`);
        acknowledge(versions, life);
        const note = T0 + ++counter;
        versions = [life.ledger.send(`note ${note}`, `n${counter}`)];
        a = await ask('POST', '/api/annotation', { startTime: note, description: `n${counter}` });
        if (a.status !== 200) fail(`an annotation answered ${a.status} ${a.text.slice(0, 300)}`);
        acknowledge(versions, life);
    }
}

// Records a server on 'dir' for so long; half-way it is stopped and started.
async function record(dir, mode, ledger, ms) {
    const file = path.join(root, 'record');
    fs.rmSync(file, { force: true });
    const life = { ledger, batches: 0, on: false, now: () => fs.statSync(file).size };
    for (let half = 0; half < 2; half++) {
        if (!await start(dir, mode, file)) fail(`the server does not start:\n${log}`);
        life.on = true;
        const writers = [writeHttp(0, life), writeHttp(1, life), writeTelnet(2, life), writeTelnet(3, life), change(life)];
        await new Promise((r) => setTimeout(r, ms / 2));
        life.on = false;
        await Promise.all(writers);
        const how = await stop(half === 0 ? 'SIGTERM' : 'SIGKILL');
        if (half === 0 && how !== 0) fail(`SIGTERM ended with ${how}:\n${log}`);
    }
    return { bytes: fs.readFileSync(file), batches: life.batches };
}

// -- looking -------------------------------------------------------------------

async function query(metric, notes) {
    const a = await ask('POST', '/api/query', { start: T0 - 1, end: T0 + SPAN + 200, globalAnnotations: notes, queries: [{ metric, aggregator: 'none' }] });
    if (a.status === 200) return JSON.parse(a.text);
    if (a.status === 400 && /No such name/.test(a.text)) return [];
    return fail(`a query answered ${a.status} ${a.text.slice(0, 300)}\n${log}`);
}
async function look() {
    const seen = new Map();
    const see = (key, v) => { if (seen.has(key)) fail(`${key} appears twice`); seen.set(key, v); };
    for (const g of await query('power.test', false))
        for (const [t, v] of Object.entries(g.dps)) see(`${g.tags.writer} ${g.tags.series} ${t}`, v);
    for (const g of await query('power.fresh', false)) see(`fresh ${g.tags.id}`, Object.values(g.dps)[0]);
    for (const g of await query('power.gone', false)) for (const [t, v] of Object.entries(g.dps)) see(`gone ${t}`, v);
    const a = await ask('GET', `/api/annotations?start_time=${T0}&end_time=${T0 + 100000000}`);
    if (a.status === 200) for (const n of JSON.parse(a.text)) see(`note ${n.startTime}`, n.description);
    return seen;
}

// Places of the record: half of them near what is not a plain write.
function choose(all, hot, len) {
    const places = new Set();
    for (let tries = 0; places.size < len && tries < 20 * len; tries++) {
        const near = random(2) === 0 && hot.length > 0;
        const i = near ? hot[random(hot.length)] + random(3) - 1 : random(all);
        if (i >= 0 && i < all) places.add(i);
    }
    return places;
}

const figures = { starts: 0, slowest: 0, cutLines: 0 };

// One cut by one model.
async function tryCut(disk, model, mode, ledger, cut, sum) {
    const dir = path.join(root, 'cut');
    fs.rmSync(dir, { recursive: true, force: true });
    disk.leave(model, dir, random);
    kept = path.join(root, 'kept');
    fs.rmSync(kept, { recursive: true, force: true });
    fs.cpSync(dir, kept, { recursive: true });
    const from = Date.now(), where = `${mode}, ${model}, cut at ${cut}`;
    if (!await start(dir, mode)) fail(`${where}: the server does not start:\n${log}`);
    figures.starts++;
    figures.slowest = Math.max(figures.slowest, Date.now() - from);
    if (/cut off/.test(log)) figures.cutLines++;
    const seen = await look();
    const { wrong, behind } = ledger.compare(seen, mode === 'always' ? cut : disk.journalSynced.at, cut);
    if (wrong.length > 0) fail(`${where}: ${wrong.length} keys are wrong, such as\n${wrong.slice(0, 5).join('\n')}\n${log}`);
    sum.cuts++;
    sum.keys += seen.size;
    if (behind > 0) { sum.withLoss++; sum.worst = Math.max(sum.worst, behind); }
    if (disk.journalSynced.time > 0) sum.window = Math.max(sum.window, (disk.now - disk.journalSynced.time) / 1000);
    await stop('SIGKILL');
    kept = null;
}

// Records and cuts; returns a folder with holes in it.
async function campaign(name, dir, base, ledger, mode, ms, len) {
    const { bytes, batches } = await record(dir, mode, ledger, ms);
    const records = [], hot = [];
    readRecord(bytes, (r) => { if (!'wo'.includes(r.type)) hot.push(records.length); records.push(r); });
    const disk = new Disk(dir), places = choose(records.length, hot, len);
    const sums = Object.fromEntries(models.map((m) => [m, { cuts: 0, keys: 0, withLoss: 0, worst: 0, window: 0 }]));
    let next = null, done = 0;
    if (base !== null) disk.load(base);
    for (const [i, r] of records.entries()) {
        disk.apply(r);
        if (!places.has(i)) continue;
        for (const model of models) {
            await tryCut(disk, model, mode, ledger, r.end, sums[model]);
            if (model === 'holes' && ++done === Math.ceil(places.size * 2 / 3)) {
                next = path.join(root, 'again');
                fs.rmSync(next, { recursive: true, force: true });
                fs.renameSync(path.join(root, 'kept'), next);
            }
        }
    }
    for (const model of models) {
        const s = sums[model];
        const lost = mode === 'always' ? '0 acknowledged lost' : '0 lost of what was synced; ' +
            `in ${s.withLoss} cuts what was not, at most ${s.worst} keys, at most ${s.window.toFixed(0)} ms`;
        console.log(`${name} ${mode}, ${model}: ${s.cuts} cuts, all open, ${Math.round(s.keys / s.cuts)} keys each; ${lost}`);
    }
    console.log(`${name} ${mode}: ${batches} batches of ${BATCH + 1} points acknowledged, ${records.length} calls recorded`);
    return next;
}

for (const mode of ['always', 'interval', 'off']) {
    if (onlyMode !== undefined && onlyMode !== mode) continue;
    const dir = path.join(root, 'data');
    fs.rmSync(dir, { recursive: true, force: true });
    fs.mkdirSync(dir);
    const again = await campaign('first', dir, null, new Ledger(), mode, long ? 3000 : 1000, Math.ceil(cuts * 3 / 4));
    if (again === null || cuts < 2) continue;
    const base = path.join(root, 'base');
    fs.rmSync(base, { recursive: true, force: true });
    fs.cpSync(again, base, { recursive: true });
    if (!await start(again, mode)) fail(`the server does not start:\n${log}`);
    const seen = await look();
    await stop('SIGKILL');
    fs.rmSync(again, { recursive: true, force: true });
    fs.cpSync(base, again, { recursive: true });
    await campaign('again', again, base, Ledger.after(seen), mode, long ? 1000 : 500, Math.floor(cuts / 4));
}
console.log(`${figures.starts} starts, ${figures.cutLines} of them cut something off, the slowest took ${figures.slowest} ms`);

// kill9.mjs HALITE [ROUNDS]: the promise "what was acknowledged is kept", tried.
//
// This process keeps the ledger: for each series and time the last value that was
// acknowledged, and the values of batches that were under way when the server was
// killed, which may or may not be there.  Two writers over HTTP and two over
// telnet, each with series of its own, so that the order of writes is known; half
// of their points are late or shuffled, over rows that are flushed already.  Every
// fourth stop is a SIGTERM, which flushes all rows; the others are kill -9 at a
// random moment.  After each restart every point is compared by value.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { Random, seedOfRun } from '../random.mjs';

const [halite, roundsArg] = process.argv.slice(2);
const rounds = Number(roundsArg ?? 20);
const seed = seedOfRun();
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'halite-kill9-'));
const T0 = 1735689600, HOURS = 4, SERIES = 8, BATCH = 400;

console.log(`seed ${seed} (HALITE_SEED=${seed} repeats the choices)`);
const chances = new Random(seed);
const random = (n) => chances.below(n);

let server = null, port = 0;
process.on('exit', () => { server?.kill('SIGKILL'); fs.rmSync(dir, { recursive: true, force: true }); });
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));
function fail(why) { console.error(`FAILED: ${why}`); process.exit(1); }

function start() {
    return new Promise((resolve) => {
        let text = '';
        const from = Date.now();
        server = spawn(halite, ['tsd', '--bind', '127.0.0.1', '--port', '0', '--data', path.join(dir, 'data'),
            'halite.store.head_bytes=1M', 'halite.store.journal_segment_bytes=64K', 'halite.store.seal_delay_ms=1',
            'halite.store.encode_delay_ms=20', 'halite.store.summary_delay_ms=20', 'halite.store.journal_bytes=1M'], { stdio: ['ignore', 'ignore', 'pipe'] });
        server.gone = new Promise((r) => server.on('exit', (code, signal) => r({ code, signal })));
        server.stderr.on('data', (d) => {
            text += d;
            const m = /listening on \S+:(\d+)/.exec(text);
            if (m && !port) { port = Number(m[1]); resolve(Date.now() - from); }
        });
        server.gone.then(({ code, signal }) => { if (!port) fail(`the server did not start (${code ?? signal}):\n${text}`); });
    });
}

// -- the ledger: writer -> "series time" -> { sure, maybe: [...] } ------------
const ledger = [0, 1, 2, 3].map(() => new Map());
let counter = 0;

function makeBatch(w, at) {
    const points = [];
    for (let i = 0; i < BATCH; i++) {
        const late = i % 2 === 1;
        const t = late ? T0 + random(HOURS * 3600) : T0 + (at + i) % (HOURS * 3600);
        points.push({ s: random(SERIES), t, v: random(4) === 0 ? ++counter + 0.5 : ++counter });
    }
    return points;
}
function underWay(w, points) {
    for (const { s, t, v } of points) {
        const key = `${s} ${t}`, e = ledger[w].get(key) ?? { maybe: [] };
        e.maybe.push(v);
        ledger[w].set(key, e);
    }
}
function acknowledged(w, points) {
    for (const { s, t, v } of points) {
        const e = ledger[w].get(`${s} ${t}`);
        e.sure = v;
        e.maybe = [];
    }
}

const tags = (w, s) => ({ writer: `w${w}`, series: `s${s}` });
function post(p, body) {
    return new Promise((resolve, reject) => {
        const r = http.request({ host: '127.0.0.1', port, path: p, method: 'POST', agent: false }, (m) => {
            let text = '';
            m.on('data', (d) => { text += d; });
            m.on('end', () => resolve({ status: m.statusCode, text }));
            m.on('error', reject);
        });
        r.on('error', reject);
        r.end(JSON.stringify(body));
    });
}

// Every batch also makes a series of its own, so that ids are assigned, and the
// directory written, at every moment: name -> value, and those under way.
const fresh = new Map(), freshMaybe = new Map();
function freshPoint(w) {
    const id = `w${w}n${++counter}`;
    freshMaybe.set(id, counter);
    return { id, v: counter };
}
function freshAcknowledged({ id, v }) { freshMaybe.delete(id); fresh.set(id, v); }

async function verifyFresh() {
    if (fresh.size === 0) return;
    const a = await post('/api/query', { start: T0, end: T0 + 10, queries: [{ metric: 'kill.fresh', aggregator: 'none', tags: { id: '*' } }] });
    if (a.status !== 200) fail(`query answered ${a.status} ${a.text.slice(0, 300)}`);
    const seen = new Map();
    for (const g of JSON.parse(a.text)) {
        if (seen.has(g.tags.id)) fail(`series ${g.tags.id} appears twice`);
        seen.set(g.tags.id, Object.values(g.dps)[0]);
    }
    for (const [id, v] of fresh) if (seen.get(id) !== v) fail(`series ${id}: acknowledged ${v}, the server has ${seen.get(id)}`);
    for (const [id, v] of seen) if (!fresh.has(id)) {
        if (freshMaybe.get(id) !== v) fail(`series ${id} has ${v}, which was never written`);
        fresh.set(id, v);
    }
    freshMaybe.clear();
}

let batches = 0;
async function writeHttp(w, life) {
    for (let at = random(10000); life.on; at += BATCH) {
        const points = makeBatch(w, at), own = freshPoint(w);
        underWay(w, points);
        let a;
        try {
            a = await post('/api/put', [{ metric: 'kill.fresh', timestamp: T0, value: own.v, tags: { id: own.id } },
                ...points.map(({ s, t, v }) => ({ metric: 'kill.nine', timestamp: t, value: v, tags: tags(w, s) }))]);
        } catch { return; }
        if (a.status !== 204) fail(`put answered ${a.status} ${a.text.slice(0, 300)}`);
        acknowledged(w, points);
        freshAcknowledged(own);
        batches++;
    }
}
async function writeTelnet(w, life) {
    const socket = net.connect(port, '127.0.0.1');
    let waiting = null, closed = false;
    socket.on('error', () => {});
    socket.on('close', () => { closed = true; waiting?.(false); });
    socket.on('data', (d) => { if (/put:/.test(d)) fail(`telnet said ${d}`); if (/\n/.test(d)) waiting?.(true); });
    for (let at = random(10000); life.on && !closed; at += BATCH) {
        const points = makeBatch(w, at), own = freshPoint(w);
        underWay(w, points);
        const answered = new Promise((r) => { waiting = r; });
        socket.write(points.map(({ s, t, v }) => `put kill.nine ${t} ${v} writer=w${w} series=s${s}\n`).join('') +
            `put kill.fresh ${T0} ${own.v} id=${own.id}\nversion\n`);
        if (!await answered) return;
        acknowledged(w, points);
        freshAcknowledged(own);
        batches++;
    }
    socket.destroy();
}

async function verify() {
    let compared = 0;
    for (let w = 0; w < 4; w++) {
        if (ledger[w].size === 0) continue;
        const a = await post('/api/query', { start: T0, end: T0 + HOURS * 3600,
            queries: [{ metric: 'kill.nine', aggregator: 'none', tags: { writer: `w${w}` } }] });
        if (a.status !== 200 && ![...ledger[w].values()].some((e) => e.sure !== undefined)) continue;
        if (a.status !== 200) fail(`query answered ${a.status} ${a.text.slice(0, 300)}`);
        const seen = new Map();
        for (const g of JSON.parse(a.text)) for (const [t, v] of Object.entries(g.dps)) {
            const key = `${g.tags.series.slice(1)} ${t}`;
            if (seen.has(key)) fail(`${key} appears twice`);
            seen.set(key, v);
        }
        for (const [key, e] of ledger[w]) {
            const v = seen.get(key);
            if (v === undefined ? e.sure !== undefined : v !== e.sure && !e.maybe.includes(v))
                fail(`writer ${w}, ${key}: acknowledged ${e.sure}, under way ${e.maybe}, the server has ${v}`);
            if (v === undefined) ledger[w].delete(key);
            else { e.sure = v; e.maybe = []; }
            seen.delete(key);
            compared++;
        }
        if (seen.size > 0) fail(`the server has ${seen.size} points that were never written, such as ${[...seen][0]}`);
    }
    return compared;
}

let slowest = 0;
for (let round = 0; round <= rounds; round++) {
    port = 0;
    slowest = Math.max(slowest, await start());
    const compared = await verify();
    await verifyFresh();
    const gentle = round % 4 === 3 || round === rounds;
    const life = { on: true };
    const writers = round === rounds ? [] : [writeHttp(0, life), writeHttp(1, life), writeTelnet(2, life), writeTelnet(3, life)];
    if (round < rounds) await new Promise((r) => setTimeout(r, 150 + random(500)));
    if (gentle) { life.on = false; await Promise.all(writers); }
    server.kill(gentle ? 'SIGTERM' : 'SIGKILL');
    const { code, signal } = await server.gone;
    if (gentle && code !== 0) fail(`SIGTERM ended with ${code ?? signal}`);
    life.on = false;
    await Promise.all(writers);
    if (round % 5 === 0) console.log(`round ${round}: ${compared} points compared, ${batches} batches acknowledged so far`);
}
server = null;
console.log(`${rounds} stops, ${batches} batches of ${BATCH} points acknowledged, none lost; slowest start ${slowest} ms`);

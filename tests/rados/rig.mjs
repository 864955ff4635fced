// What the programs of this folder share: a namespace of a pool, the daemons that serve
// it, clients that keep a ledger of what was acknowledged, and a look at all that is held.
//
// HALITE_TEST_RADOS names the cluster; each program works in a namespace of its own.  One
// that harms its cluster starts another (ceph.mjs).
import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { promisify } from 'node:util';
import { Random, seedOfRun } from '../random.mjs';

export const halite = process.argv[2];
const conf = process.env.HALITE_TEST_RADOS, pool = 'tsdb';
export const lease = Number(process.env.HALITE_LEASE_MS ?? 2000);
export const seed = seedOfRun();
const chances = new Random(seed);
export const random = (n) => chances.below(n);
export const pick = (list) => list[random(list.length)];
export const sleep = (ms) => new Promise((r) => setTimeout(r, ms));
export const execute = promisify(execFile);

const open = new Set(); // fleets to be taken away at the end
process.on('exit', () => { for (const f of open) for (const d of f.daemons) d.process?.kill('SIGKILL'); });
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => end(1));
async function end(code) {
    await Promise.all([...open].map((f) => f.close().catch(() => {})));
    process.exit(code);
}
export const finish = () => end(0);
export async function fail(why) {
    console.error(`FAILED: ${why}\nHALITE_SEED=${seed}`);
    const kept = process.env.HALITE_LOGS;
    for (const f of open) for (const d of f.all) {
        if (kept) fs.writeFileSync(`${kept}/${d.name}.log`, d.log);
        else console.error(`-- ${d.name} (${d.how ?? 'runs'}), the end of its log:\n${d.log.slice(-3000)}`);
    }
    await end(1);
}
if (halite === undefined) {
    console.error('usage: HALITE_TEST_RADOS=CEPH.CONF node PROGRAM HALITE [ARGUMENT...]');
    process.exit(2);
}

// Tries until 'f' gives something; on a machine that others use that may take long.
export async function until(what, f, ms = 180000) {
    for (const last = Date.now() + ms; ; await sleep(20)) {
        const got = await f();
        if (got) return got;
        if (Date.now() > last) await fail(`waited ${ms / 1000} s for ${what}`);
    }
}

let namespaces = 0;
const rados = (ns, ...words) => execute('rados', ['-c', conf, '-p', pool, '-N', ns, ...words], { maxBuffer: 1 << 28, timeout: 120000 });
async function purge(ns) {
    const { stdout } = await rados(ns, 'ls');
    const names = stdout.split('\n').filter(Boolean);
    while (names.length > 0) await rados(ns, 'rm', ...names.splice(0, 500)).catch(() => {});
}

export class Daemon {
    constructor(fleet, name) { Object.assign(this, { fleet, name, log: '', port: 0, process: null, how: undefined, stopped: false, agent: new http.Agent({ keepAlive: true }), quick: new http.Agent({ keepAlive: true }) }); }

    // Resolves when it listens, or has ended ('how' tells then with which code or signal).
    start(port = 0) {
        const f = this.fleet;
        const words = ['tsd', '--store', f.place, '--bind', '127.0.0.1', '--port', String(port), ...f.words, ...f.heads.slice(0, 1)];
        f.heads.push(...f.heads.splice(0, 1));
        const child = spawn(halite, words, { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ...f.env } });
        this.process = child;
        this.started = Date.now();
        return new Promise((resolve) => {
            this.ended = new Promise((r) => child.on('exit', (code, signal) => {
                this.process = null;
                this.how = signal ?? code;
                this.agent.destroy();
                this.quick.destroy();
                r(this.how);
                resolve(this);
                if (!this.asked) f.surprise?.(this);
            }));
            child.stderr.on('data', (d) => {
                this.log += d;
                const m = /listening on \S+:(\d+)/.exec(this.log);
                if (m && this.port === 0) { this.port = Number(m[1]); resolve(this); }
            });
        });
    }
    get live() { return this.process !== null && !this.stopped && !this.asked; }
    // An end that the test wants: 'surprise' is not told.
    end(signal) {
        this.asked = true;
        this.process?.kill(signal);
        return this.ended;
    }
    // Connections of 'quick' end with it, as if their clients waited no longer.
    pause() { this.stopped = true; this.process.kill('SIGSTOP'); this.quick.destroy(); }
    wake() { this.process?.kill('SIGCONT'); }

    // { status, text }; status 0: no answer, its outcome is not known.
    ask(method, where, body, ms = 30000, agent = this.agent) {
        return new Promise((resolve) => {
            const none = (e) => resolve({ status: 0, text: String(e.code ?? e.message) });
            const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
            const headers = text === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) };
            const r = http.request({ host: '127.0.0.1', port: this.port, method, path: where, agent, headers, timeout: ms }, (a) => {
                let answer = '';
                a.setEncoding('utf8');
                a.on('data', (d) => { answer += d; });
                a.on('end', () => resolve({ status: a.statusCode, text: answer }));
                a.on('error', none);
            });
            r.on('timeout', () => r.destroy(new Error('no answer in time')));
            r.on('error', none);
            r.end(text);
        });
    }
    // CPU seconds so far; resident bytes.
    get cpu() {
        const f = fs.readFileSync(`/proc/${this.process.pid}/stat`, 'utf8').split(') ')[1].split(' ');
        return (Number(f[11]) + Number(f[12])) / 100;
    }
    get rss() { return 1024 * Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${this.process.pid}/status`, 'utf8'))[1]); }
}

// What daemons do in turn with rows whose span is over, so that all has its kills: flush them at
// once; keep them, as blocks of hours, and take late points on top.
export const HEADS = ['halite.store.seal_delay_ms=1', 'halite.store.encode_delay_ms=20'];

// Daemons on a namespace of their own.
export class Fleet {
    constructor(words = [], { env = {}, place, surprise, heads = [] } = {}) {
        this.ns = `t${process.pid}.${++namespaces}.${Date.now().toString(36)}`;
        this.own = place === undefined;
        this.place = place ?? `rados:${pool}/${this.ns}?conf=${conf}`;
        this.words = [...(this.place.startsWith('rados:') ? [`halite.cluster.lease_ms=${lease}`] : []), ...words];
        Object.assign(this, { env, surprise, heads: [...heads], daemons: [], all: [] });
        open.add(this);
    }
    get live() { return this.daemons.filter((d) => d.live); }
    async add(port = 0, may = false) {
        const d = new Daemon(this, `daemon ${this.all.length + 1}`);
        this.all.push(d);
        await d.start(port);
        if (d.process === null && !may) await fail(`${d.name} did not start: ${d.how}\n${d.log}`);
        this.daemons.push(d);
        return d;
    }
    async start(n) {
        // One makes the store; the others join it.
        await this.add();
        await Promise.all(Array.from({ length: n - 1 }, () => this.add()));
        await this.ready();
    }
    // One of them ends by a signal, and another comes; resolves to the first's end.
    async replace(signal) {
        const d = pick(this.live), how = await d.end(signal);
        if (signal === 'SIGTERM' && how !== 0) await fail(`${d.name}: SIGTERM ended with ${how}`);
        this.drop(d);
        await this.add();
        await this.ready();
        return d;
    }
    drop(d) { this.daemons = this.daemons.filter((x) => x !== d); }

    // Until each live daemon knows of all, and each bucket has an owner among them.
    async ready(ms = 60000) {
        const from = Date.now();
        await until('an owner for each bucket', async () => {
            const told = await Promise.all(this.live.map((d) => clusterOf(d)));
            if (told.length === 0) return false;
            const names = new Set(told.map((t) => t?.self));
            return told.every((t) => {
                if (t === null || t.members.length !== names.size || !t.members.every((m) => m.live && names.has(m.name))) return false;
                const owners = t.members.filter((m) => m.mode === 'rw').length;
                return owners === 0 || (t.unowned === 0 && new Set(t.owners).size === owners);
            });
        }, ms);
        return Date.now() - from;
    }
    async close() {
        open.delete(this);
        await Promise.all(this.daemons.map((d) => { d.wake(); return d.end('SIGKILL'); }));
        if (this.own) await purge(this.ns);
    }
}

// What a daemon says of the store's daemons, or null.
export async function clusterOf(d) {
    const a = await d.ask('GET', '/api/cluster', undefined, 5000);
    return a.status === 200 ? JSON.parse(a.text) : null;
}

// key -> the last value that was acknowledged, and those of which the client does not know.
// One writer a key at a time.  A put of unknown outcome may take its place late: it is
// counted, and is not an error; an older acknowledged value, or none, is one.
export class Ledger {
    constructor() { this.keys = new Map(); this.counter = 0; this.acknowledged = 0; this.late = 0; }
    value() { return ++this.counter % 4 === 0 ? this.counter + 0.5 : this.counter; }
    send(key, v) {
        const e = this.keys.get(key);
        if (e === undefined) this.keys.set(key, { sure: undefined, maybe: [v] });
        else e.maybe.push(v);
    }
    acknowledge(key, v, by) {
        const e = this.keys.get(key);
        const at = e.maybe.indexOf(v);
        e.maybe.splice(at, 1);
        if (e.sure === undefined || v > e.sure) { e.sure = v; e.by = by; }
        this.acknowledged++;
    }
    // Whoever tries again after a lost answer has two puts under way: the first may come late.
    again(key, v) { this.keys.get(key).maybe.push(v); }
    // The wrong ones of 'seen', a map key -> value.
    compare(seen) {
        const wrong = [];
        this.late = 0;
        for (const [key, e] of this.keys) {
            const v = seen.get(key);
            if (v === e.sure) continue;
            if (v === undefined || !e.maybe.includes(v)) wrong.push(`${key} is ${v}, acknowledged was ${e.sure}${e.sure === undefined ? '' : ` by ${e.by}`}, unknown ${e.maybe}`);
            else if (v < e.sure) this.late++;
        }
        for (const [key, v] of seen) if (!this.keys.has(key)) wrong.push(`${key} is ${v}, which was never written`);
        return wrong;
    }
}

export const T0 = 1735689600;
export const SPAN = 900, SERIES = 24;

// A query that is asked again while the daemon is busy; null when that has ended by itself.
export async function query(d, body, ms = 180000) {
    for (const last = Date.now() + ms; ; await sleep(100)) {
        const a = await d.ask('POST', '/api/query', body, ms / 2);
        if (a.status === 200) return JSON.parse(a.text);
        if (a.status === 400 && /No such name/.test(a.text)) return [];
        if (!d.live) return null;
        if ((a.status !== 503 && a.status !== 0) || Date.now() > last) return fail(`${d.name}: a query answered ${a.status} ${a.text.slice(0, 300)}`);
    }
}
// All that the writers below wrote, as one daemon sees it, or null.
export async function look(d) {
    const seen = new Map();
    for (const metric of ['pool.test', 'pool.fresh']) {
        const groups = await query(d, { start: T0 - 1, end: T0 + SPAN, queries: [{ metric, aggregator: 'none' }] });
        if (groups === null) return null;
        for (const g of groups) {
            const name = g.metric === 'pool.test' ? `${g.tags.writer} ${g.tags.series}` : g.tags.id;
            for (const [t, v] of Object.entries(g.dps)) {
                const key = `${name} ${t}`;
                if (seen.has(key)) await fail(`${d.name}: ${key} appears twice`);
                seen.set(key, v);
            }
        }
    }
    return seen;
}
// Where one ended meanwhile, whose lease was lost on a busy machine, another is asked.
export async function compare(ledger, daemons, when) {
    for (let d of daemons) {
        let seen;
        while ((seen = await look(d)) === null) d = await until('a daemon that lives', () => d.fleet.live.at(-1));
        const wrong = ledger.compare(seen);
        if (wrong.length > 0) await fail(`${when}: ${d.name} has ${wrong.length} of ${ledger.keys.size} keys wrong, such as\n${wrong.slice(0, 8).join('\n')}`);
    }
}

// Writes batches until 'on' is false: to the daemon of its number while that lives, else to
// any other.  Half of the points go back in time; each batch makes a series of its own.
class Writer {
    constructor(fleet, ledger, number, { size = 60, retry = false } = {}) {
        Object.assign(this, { fleet, ledger, number, size, retry, on: true, batches: 0, unknown: 0, retried: 0, odd: [], at: random(SPAN) });
    }
    batch() {
        const points = [];
        for (let i = 0; i < this.size; i++) {
            const t = T0 + (i % 2 === 1 ? random(SPAN) : this.at++ % SPAN), s = random(SERIES), v = this.ledger.value();
            points.push({ metric: 'pool.test', t, v, tags: { writer: `w${this.number}`, series: `s${s}` }, key: `w${this.number} s${s} ${t}` });
        }
        const v = this.ledger.value(), id = `w${this.number}n${v}`;
        if (this.batches % 4 === 0) points.push({ metric: 'pool.fresh', t: T0, v, tags: { id }, key: `${id} ${T0}` });
        for (const p of points) this.ledger.send(p.key, p.v);
        return points;
    }
    async run() {
        while (this.on) {
            const points = this.batch();
            for (;;) {
                const live = this.fleet.live, own = live[this.number % this.fleet.daemons.length];
                const d = own && random(8) > 0 ? own : live.length > 0 ? pick(live) : undefined;
                if (d && await this.put(d, points)) {
                    const by = `${d.name}, ${this.constructor.name}, ${new Date().toISOString().slice(14, 23)}`;
                    for (const p of points) this.ledger.acknowledge(p.key, p.v, by);
                    this.batches++;
                    break;
                }
                this.unknown++;
                await sleep(20);
                if (!this.retry || !this.on) break;
                for (const p of points) this.ledger.again(p.key, p.v);
                this.retried++;
            }
        }
        this.close();
    }
    close() {}
}
export class HttpWriter extends Writer {
    async put(d, points) {
        const a = await d.ask('POST', '/api/put', points.map((p) => ({ metric: p.metric, timestamp: p.t, value: p.v, tags: p.tags })));
        if (![0, 204, 503].includes(a.status)) this.odd.push(`${d.name}: ${a.status} ${a.text.slice(0, 300)}`);
        return a.status === 204;
    }
}
export class TelnetWriter extends Writer {
    async put(d, points) {
        if (this.line?.daemon !== d || this.line.socket.destroyed) {
            this.close();
            this.line = this.connect(d);
        }
        const line = this.line, whole = new Promise((r) => { line.answer = r; });
        const words = (tags) => Object.entries(tags).map(([k, v]) => `${k}=${v}`).join(' ');
        line.heard = '';
        line.socket.write(points.map((p) => `put ${p.metric} ${p.t} ${p.v} ${words(p.tags)}\n`).join('') + 'version\n');
        const timer = setTimeout(() => line.socket.destroy(), 40000), ok = await whole;
        clearTimeout(timer);
        line.answer = null;
        return ok && !/put:/.test(line.heard);
    }
    connect(daemon) {
        const line = { daemon, socket: net.connect(daemon.port, '127.0.0.1'), heard: '', answer: null };
        line.socket.on('error', () => {});
        line.socket.on('close', () => line.answer?.(false));
        line.socket.on('data', (text) => {
            line.heard += text;
            if (line.answer === null) this.odd.push(`${daemon.name} said behind its answer: ${text}`);
            if (/Built on.*\n/.test(line.heard)) line.answer?.(true);
        });
        return line;
    }
    close() { this.line?.socket.destroy(); }
}
export class Load {
    constructor(fleet, ledger, options) {
        const kinds = [HttpWriter, TelnetWriter, HttpWriter, TelnetWriter, HttpWriter, TelnetWriter];
        this.writers = kinds.map((Kind, i) => new Kind(fleet, ledger, i, options));
    }
    start() {
        for (const w of this.writers) w.on = true;
        this.running = Promise.all(this.writers.map((w) => w.run()));
    }
    async stop() {
        for (const w of this.writers) w.on = false;
        await this.running;
        const odd = this.writers.flatMap((w) => w.odd);
        if (odd.length > 0) await fail(`${odd.length} odd answers, such as\n${odd.slice(0, 5).join('\n')}`);
    }
    get batches() { return this.writers.reduce((n, w) => n + w.batches, 0); }
    get unknown() { return this.writers.reduce((n, w) => n + w.unknown, 0); }
}

// Single puts of series of their own, one behind the other, each to any live daemon: how
// long a put takes, its retries included.
export class Probes {
    constructor(fleet, ledger, n = 16) { Object.assign(this, { fleet, ledger, n, on: true, done: [], last: [] }); }
    start() {
        this.on = true;
        this.running = Promise.all(Array.from({ length: this.n }, (_, i) => this.one(i)));
    }
    async one(i) {
        for (; this.on; await sleep(20)) {
            const v = this.ledger.value(), t = T0 + random(SPAN), key = `probe p${i} ${t}`, from = performance.now();
            this.ledger.send(key, v);
            const tried = [];
            let by;
            for (let ok = false; !ok;) {
                const live = this.fleet.live, at = new Date().toISOString().slice(14, 23);
                const d = live.length === 0 ? null : pick(live);
                const a = await d?.ask('POST', '/api/put', { metric: 'pool.test', timestamp: t, value: v, tags: { writer: 'probe', series: `p${i}` } }, 30000, d.quick);
                ok = a?.status === 204;
                if (!ok) {
                    if (d) { this.ledger.again(key, v); tried.push(`${d.name} ${at}`); }
                    await sleep(20); if (!this.on) return;
                } else by = `${d.name}, a probe, ${at}`;
            }
            this.ledger.acknowledge(key, v, `${by}, tried before: ${tried.join()}`);
            this.last[i] = { t, v };
            this.done.push({ i, from, to: performance.now() });
        }
    }
    async stop() { this.on = false; await this.running; }
    // For each series how long after 'from' the first put was acknowledged that began later.
    first(from) {
        const found = new Map();
        for (const { i, from: at, to } of this.done) if (at >= from && !found.has(i)) found.set(i, to - from);
        return found;
    }
    // The longest that a put took among those that were under way after 'from'.
    longest(from) { return Math.max(0, ...this.done.filter((d) => d.to >= from).map((d) => d.to - d.from)); }
}

export const median = (list) => list.length === 0 ? NaN : [...list].sort((a, b) => a - b)[list.length >> 1];
export const seconds = (ms) => `${(ms / 1000).toFixed(2)} s`;

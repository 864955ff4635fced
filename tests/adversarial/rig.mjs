// A server to be attacked, a second one that is left in peace, and a baseline client
// (baseline.mjs) that measures both: what the machine's noise costs shows in the second.
import { spawn, fork } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';

export const sleep = (ms) => new Promise((r) => setTimeout(r, ms));
export const T0 = 1735689600;

// -- the random numbers: one seed, which adversarial.mjs prints; each attack has a row of
// its own, whatever was run before it ---------------------------------------------
let state = 0;
export function reseed(text) { // FNV-1a
    state = 0x811c9dc5;
    for (const c of Buffer.from(text)) state = Math.imul(state ^ c, 0x01000193) >>> 0;
}
export function random(n) { // mulberry32
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % n;
}

// -- servers ------------------------------------------------------------------
export class Server {
    constructor(halite, words, { env = {}, wrap = [] } = {}) {
        this.words = words;
        this.log = '';
        const all = [...wrap, halite, 'tsd', '--bind', '127.0.0.1', '--port', '0', ...words];
        this.child = spawn(all[0], all.slice(1), { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ...env } });
        this.gone = new Promise((r) => this.child.on('exit', (code, signal) => { this.ended = signal ?? `status ${code}`; r(); }));
        Server.all.add(this);
    }
    static all = new Set();
    static async start(...args) {
        const s = new Server(...args);
        await new Promise((resolve, reject) => {
            s.child.stderr.on('data', (d) => {
                s.log = (s.log + d).slice(-20000);
                const tls = /TLS on \S+?:(\d+)|tls on \S+?:(\d+)/i.exec(s.log);
                if (tls) s.tlsPort = Number(tls[1] ?? tls[2]);
                const m = /listening on [^\s,]+:(\d+)/.exec(s.log);
                if (m && !s.port) { s.port = Number(m[1]); setTimeout(resolve, 20); }
            });
            s.gone.then(() => reject(new Error(`the server did not start: ${s.ended}\n${s.log}`)));
        });
        return s;
    }
    get pid() { return this.child.pid; }
    // The process itself, when it was wrapped by a program that forks: none does here.
    proc(name) { return fs.readFileSync(`/proc/${this.pid}/${name}`, 'utf8'); }
    get alive() { return this.ended === undefined; }
    fds() { return fs.readdirSync(`/proc/${this.pid}/fd`).length; }
    threads() { return Number(/Threads:\s+(\d+)/.exec(this.proc('status'))[1]); }
    rss() { return Number(/VmRSS:\s+(\d+)/.exec(this.proc('status'))[1]) / 1024; } // MB
    peak() { return Number(/VmHWM:\s+(\d+)/.exec(this.proc('status'))[1]) / 1024; }
    cpuMs() { // user and system
        const f = this.proc('stat').replace(/^.*\) /s, '').split(' ');
        return (Number(f[11]) + Number(f[12])) * 10;
    }
    // Of the threads that read and write connections, which libmicrohttpd names, or of all others.
    threadsMs(connections) {
        const all = fs.readdirSync(`/proc/${this.pid}/task`).filter((id) => (this.proc(`task/${id}/comm`).trim() === 'MHD-worker') === connections);
        return all.reduce((sum, id) => sum + Number(this.proc(`task/${id}/schedstat`).split(' ')[0]) / 1e6, 0);
    }
    async stop(ms = 8000) {
        if (this.alive) { this.child.kill('SIGTERM'); await Promise.race([this.gone, sleep(ms)]); }
        if (this.alive) { this.child.kill('SIGKILL'); await this.gone; this.ended = 'SIGKILL, since it did not stop'; }
        Server.all.delete(this);
    }
}
// What could not be started has no pid, and its kill() would go to our own process group.
process.on('exit', () => { for (const s of Server.all) if (s.pid) s.child.kill('SIGKILL'); });

// -- sockets ------------------------------------------------------------------
// Opens a connection; what it says is in .text, .closed tells that it ended.
export function open(port, { host = '127.0.0.1', from, allowHalfOpen = true } = {}) {
    return new Promise((resolve) => {
        const s = net.connect({ port, host, localAddress: from, allowHalfOpen });
        s.chunks = [];
        s.over = false;
        s.failure = null;
        s.on('data', (d) => { s.chunks.push(d); s.waiter?.(); });
        s.on('end', () => { s.over = true; s.waiter?.(); });
        s.on('close', () => { s.over = true; s.waiter?.(); });
        s.on('error', (e) => { s.failure = e.code; s.over = true; resolve(s); s.waiter?.(); });
        s.on('connect', () => resolve(s));
        Object.defineProperty(s, 'text', { get: () => Buffer.concat(s.chunks).toString('latin1') });
        s.setNoDelay(true);
    });
}
export async function until(f, ms = 5000, step = 5) {
    const end = Date.now() + ms;
    for (;;) {
        const r = await f();
        if (r) return r;
        if (Date.now() > end) return null;
        await sleep(step);
    }
}
// Until the server closes, or 'done' is content with what it said.
export function hear(s, done, ms = 5000) {
    return new Promise((resolve) => {
        const end = () => { clearTimeout(timer); s.waiter = null; resolve(s.over); };
        const timer = setTimeout(end, ms);
        s.waiter = () => { if (s.over || done?.(s.text)) end(); };
        s.waiter();
    });
}
export const untilClosed = (s, ms) => hear(s, null, ms);

// Says 'bytes' and hears until the server closes, 'done' is content, or time is up.
export async function say(port, bytes, { ms = 5000, done, end = false, from } = {}) {
    const s = await open(port, { from });
    if (!s.failure) {
        s.write(Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes, 'latin1'));
        if (end) s.end();
        await hear(s, done, ms);
    }
    const result = { text: s.text, closed: s.over, failed: s.failure, replies: replies(s.text) };
    s.destroy();
    return result;
}
// The HTTP replies in a text: status and body.
export function replies(text) {
    const out = [];
    let at = 0;
    for (;;) {
        const start = /HTTP\/1\.[01] (\d{3})[^\r\n]*\r\n/g;
        start.lastIndex = at;
        const m = start.exec(text);
        if (!m) return out;
        const end = text.indexOf('\r\n\r\n', m.index);
        if (end < 0) return out;
        const head = text.slice(m.index, end);
        const size = Number(/content-length: *(\d+)/i.exec(head)?.[1] ?? 0);
        const status = Number(m[1]);
        out.push({ status, head, body: text.slice(end + 4, end + 4 + size) });
        at = end + 4 + (status === 100 || status === 304 || status === 204 ? 0 : size);
    }
}
export const whole = (text) => {
    const all = replies(text), last = all[all.length - 1];
    return last !== undefined && last.status !== 100 &&
        last.body.length >= Number(/content-length: *(\d+)/i.exec(last.head)?.[1] ?? 0);
};
// One request, one answer.
export async function ask(port, method, target, body, { headers = {}, ms = 10000, from } = {}) {
    const data = body === undefined ? Buffer.alloc(0) : Buffer.isBuffer(body) ? body : Buffer.from(body);
    let head = `${method} ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n`;
    if (body !== undefined) head += `Content-Length: ${data.length}\r\n`;
    for (const [k, v] of Object.entries(headers)) head += `${k}: ${v}\r\n`;
    const r = await say(port, Buffer.concat([Buffer.from(`${head}\r\n`, 'latin1'), data]), { ms, done: whole, from });
    return r.replies.find((x) => x.status !== 100) ?? { status: 0, head: '', body: r.text, failed: r.failed };
}

// -- the baseline client ----------------------------------------------------------
export class Baseline {
    static async start() {
        const c = new Baseline();
        c.child = fork(path.join(import.meta.dirname, 'baseline.mjs'));
        c.child.on('message', (m) => c.heard?.(m));
        return c;
    }
    ask(m) { return new Promise((r) => { this.heard = r; this.child.send(m); }); }
    // From now on it is a client of these servers, and of no others.
    watch(ports) { return this.ask({ ports }); }
    // What it measured since the last look: {p99, p50, len, worst, failed} of each server.
    look() { return this.ask('look'); }
}

// -- data -----------------------------------------------------------------------
export async function putMany(port, lines) {
    const s = await open(port);
    let text = '';
    const flush = async () => { if (!s.write(text)) await new Promise((r) => s.once('drain', r)); text = ''; };
    for (const line of lines) { text += `put ${line}\n`; if (text.length > 60000) await flush(); }
    text += 'version\n';
    await flush();
    if (!await until(() => /built/i.test(s.text) || s.over, 30000)) throw new Error('puts were not taken');
    const said = s.text;
    s.destroy();
    return said;
}

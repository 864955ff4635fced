// faults.mjs HALITE SHIM.so [NAME...]: a disk that is full, or fails, under a real server.
//
// Each case writes, spoils the disk with shim.c, and looks that writes are rejected with
// 503 and the reason (telnet: an error line), that what was acknowledged is still read,
// that writes go on without a restart when the disk is well again, and, after a kill -9
// and a start, that all that was ever acknowledged is there with its value.  A second time
// it is killed while the disk fails: nothing but the disk holds what was acknowledged then.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';

const [halite, shim, ...names] = process.argv.slice(2);
const T0 = 1735689600;
const cases = [];
for (const sync of ['always', 'interval', 'off'])
    for (const fault of ['full', 'enospc:journal', 'short:journal', 'eio:journal', 'sync:journal'])
        if (!(sync === 'off' && fault === 'sync:journal')) // never synced, never failed
            cases.push({ sync, fault, reason: fault === 'full' ? /disk of .* is full.*: make room/ : /journal/ });
// Of the engine nothing is written any more, until another start.
for (const fault of ['eio:engine', 'enospc:engine', 'short:engine']) cases.push({ sync: 'always', fault, stays: true });

let server = null, port = 0, log = '';
const root = fs.mkdtempSync(path.join(os.tmpdir(), 'halite-faults-'));
const control = path.join(root, 'control');
process.on('exit', () => { server?.kill('SIGKILL'); fs.rmSync(root, { recursive: true, force: true }); });
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));
function fail(why) { console.error(`FAILED: ${why}\n${log}`); process.exit(1); }
const tell = (words) => fs.writeFileSync(control, words);

function start(dir, sync) {
    return new Promise((resolve) => {
        log = '';
        server = spawn(halite, ['tsd', '--bind', '127.0.0.1', '--port', '0', '--data', dir,
            `halite.sync=${sync}`, 'halite.sync.interval_ms=20', 'halite.store.journal_segment_bytes=64K'],
        { stdio: ['ignore', 'ignore', 'pipe'],
            env: { ...process.env, LD_PRELOAD: shim, HALITE_FAULTS: control, HALITE_FAULTS_DIR: dir } });
        server.gone = new Promise((r) => server.on('exit', r));
        let up = false;
        server.stderr.on('data', (d) => {
            log += d;
            const m = /listening on \S+:(\d+)/.exec(log);
            if (m && !up) { up = true; port = Number(m[1]); resolve(); }
        });
        server.gone.then(() => { if (!up) fail('the server did not start'); });
    });
}
async function kill() { server.kill('SIGKILL'); await server.gone; }

const sure = new Map(); // time -> value
let next = 0;
// New names are what the engine has to write at once.
async function put(len, names) {
    const points = [];
    for (let i = 0; i < len; i++, next++)
        points.push({ metric: 'faults', timestamp: T0 + next, value: next * 7 % 1000, tags: { host: names ? `h${next}` : 'a' } });
    const r = await fetch(`http://127.0.0.1:${port}/api/put?details`, { method: 'POST', body: JSON.stringify(points), signal: AbortSignal.timeout(20000) })
        .catch((e) => fail(`a put is not answered: ${e}`));
    const text = await r.text();
    if (r.status === 200 || r.status === 204)
        for (const p of points) sure.set(p.timestamp, p.value);
    return { status: r.status, text };
}
function telnet(line) {
    return new Promise((resolve, reject) => {
        const s = net.connect(port, '127.0.0.1', () => s.write(`${line}\nversion\n`));
        let text = '';
        s.on('data', (d) => { text += d; if (/halite|opentsdb|net\.opentsdb/i.test(text)) { s.destroy(); resolve(text); } });
        s.on('error', reject);
        setTimeout(() => { s.destroy(); resolve(text); }, 3000).unref();
    });
}
async function compare(when) {
    const r = await fetch(`http://127.0.0.1:${port}/api/query?start=${T0 - 1}&end=${T0 + next + 1}&m=sum:faults`);
    const body = await r.text();
    if (r.status !== 200) fail(`${when}: a query answers ${r.status} ${body}`);
    const dps = JSON.parse(body)[0]?.dps ?? {};
    for (const [t, v] of sure)
        if (dps[t] !== v) fail(`${when}: ${v} was acknowledged at ${t}, there is ${dps[t]}`);
    for (const t of Object.keys(dps))
        if (dps[t] !== (Number(t) - T0) * 7 % 1000) fail(`${when}: a value that was never written, ${dps[t]} at ${t}`);
}
async function until(what, f) {
    const end = Date.now() + 20000;
    for (;;) {
        const r = await f();
        if (r) return r;
        if (Date.now() > end) fail(`waited for: ${what}`);
    }
}

// A healthy start, points, and the disk fails; resolves when a put is rejected.
async function spoil(c, dir) {
    sure.clear();
    next = 0;
    tell('');
    await start(dir, c.sync);
    for (let i = 0; i < 20; i++)
        if ((await put(100)).status >= 300) fail(`${c.name}: a healthy disk is rejected`);
    tell(c.fault);
    const rejected = await until('a rejection', async () => { const r = await put(100, c.stays); return r.status >= 300 ? r : null; });
    if (rejected.status !== 503) fail(`${c.name}: rejected with ${rejected.status} ${rejected.text.slice(0, 500)}`);
}

async function recover(c, dir) {
    await spoil(c, dir);
    await until('the reason', async () => { const r = await put(1); log += `${r.status} ${r.text}\n`; return r.status === 503 && c.reason.test(r.text); });
    const line = await telnet(`put faults ${T0 + 100000} 1 host=a`);
    if (!c.reason.test(line)) fail(`${c.name}: telnet answers ${line}`);
    await compare(`${c.name}, while it fails`);
    tell('');
    await until('writing again', async () => (await put(10)).status < 300);
    if ((await put(500)).status >= 300) fail(`${c.name}: rejected again`);
    await compare(`${c.name}, after it`);
    if (!/error/.test(log) || !/taken again/.test(log)) fail(`${c.name}: the log is silent`);
    await kill();
    await start(dir, c.sync);
    await compare(`${c.name}, after a kill`);
    await kill();
}

async function killed(c, dir) {
    await spoil(c, dir);
    await compare(`${c.name}, while it fails`);
    await kill();
    tell('');
    await start(dir, c.sync);
    await compare(`${c.name}, killed while it fails`);
    if ((await put(10)).status >= 300) fail(`${c.name}: rejected after a start`);
    await kill();
}

for (const c of cases) {
    const dir = path.join(root, `${c.fault} ${c.sync}`.replace(/\W/g, '-'));
    c.name = `${c.fault} sync=${c.sync}`;
    if (names.length > 0 && !names.every((n) => c.name.includes(n))) continue;
    if (!c.stays) await recover(c, dir);
    // What an interval does not promise is not asked for.
    if (!(c.sync === 'interval' && /sync/.test(c.fault))) await killed(c, `${dir}-killed`);
    console.log(`${c.name}: ok, ${sure.size} points`);
}

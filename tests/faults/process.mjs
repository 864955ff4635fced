// process.mjs HALITE [two|signals|drain|logs|clock...]: what happens around a server.
//
//   two      a second server on its folder says so and ends; the first goes on
//   signals  SIGTERM and SIGHUP under load lose nothing, a second SIGTERM ends it at once
//   drain    a stop ends the request that is under way, and begins no other
//   logs     a log without room, without a reader, or moved away does not stop the server
//   clock    an hour, ten years, 1970, 2038, 2106: nothing stalls, nothing is lost
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { fakeClock } from '../faketime.mjs';
import { Ledger } from '../power/ledger.mjs';
import { Load, Server, T0, look, settings } from '../power/load.mjs';

const [halite, ...only] = process.argv.slice(2);
const root = fs.mkdtempSync(path.join(process.env.TMPDIR ?? (fs.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir()), 'halite-process-'));
process.on('exit', () => fs.rmSync(root, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));
const server = new Server(halite, settings);
function fail(why) { console.error(`FAILED: ${why}\n${server.log}`); process.exit(1); }
const sleep = (ms) => new Promise((r) => setTimeout(r, ms));
async function until(what, f) {
    for (const end = Date.now() + 20000; !await f(); await sleep(10))
        if (Date.now() > end) fail(`waited for: ${what}`);
}
async function start(dir, more = [], env = {}) {
    if (!await server.start(dir, more, env)) fail('the server does not start');
}
async function compare(ledger, where) {
    const { wrong } = ledger.compare(await look(server, fail), 0, 0);
    if (wrong.length > 0) fail(`${where}: ${wrong.length} keys are wrong, such as\n${wrong.slice(0, 5).join('\n')}`);
}
// A server that is expected to end by itself: what it says, and how it ends.
function run(args) {
    return new Promise((resolve) => {
        const child = spawn(halite, args, { stdio: ['ignore', 'ignore', 'pipe'] });
        let text = '';
        child.stderr.on('data', (d) => { text += d; });
        child.on('close', (code) => resolve({ code, text }));
    });
}

const cases = {
    async two(dir) {
        await start(dir);
        const ledger = new Ledger(), load = new Load(server, ledger, fail), done = load.run();
        for (let i = 0; i < 3; i++) {
            const { code, text } = await run(['tsd', '--bind', '127.0.0.1', '--port', '0', '--data', dir]);
            if (code !== 1 || !/in use by another process \(pid \d+\)/.test(text)) fail(`the second server: ${code}, ${text}`);
        }
        await until('writing', () => load.batches > 50);
        load.on = false;
        await done;
        await compare(ledger, 'beside a second server');
        await server.stop('SIGKILL');
        fs.writeFileSync(path.join(dir, 'LOCK'), '1\n'); // of a process that is another one now
        await start(dir);
        await compare(ledger, 'behind a stale lock');
        await server.stop('SIGTERM');
    },

    async signals(dir) {
        const ledger = new Ledger();
        for (const round of ['term', 'hup', 'term twice']) {
            await start(dir);
            const load = new Load(server, ledger, fail), done = load.run();
            await until('writing', () => load.batches > 30);
            if (round === 'hup')
                for (let i = 0; i < 20; i++) { server.process.kill('SIGHUP'); await sleep(10); }
            const from = Date.now();
            load.mayRefuse = true;
            server.process.kill('SIGTERM');
            if (round === 'term twice') {
                await until('the stop to begin', () => /stopping/.test(server.log) || server.process === null);
                server.process?.kill('SIGTERM');
            }
            const how = await server.stop('SIGCONT');
            load.on = false;
            await done;
            if (how !== 0 && !(round === 'term twice' && how === 1)) fail(`${round}: it ended with ${how}`);
            if (Date.now() - from > 10000) fail(`${round}: it took ${Date.now() - from} ms`);
            await start(dir);
            await compare(ledger, round);
            await server.stop('SIGTERM');
        }
    },

    // A stop waits for the request that is under way, and takes it, but no new one; a second
    // signal waits for nothing.
    async drain(dir) {
        const ledger = new Ledger();
        for (const round of ['term', 'term twice']) {
            await start(dir, ['halite.drain_ms=60000']);
            const load = new Load(server, ledger, fail), done = load.run();
            const body = JSON.stringify({ metric: 'drain', timestamp: T0, value: 5, tags: { round: round.replace(' ', '.') } });
            const socket = net.connect(server.port, '127.0.0.1');
            let text = '';
            socket.on('data', (d) => { text += d; });
            socket.on('error', () => {});
            socket.write(`POST /api/put HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 20)}`);
            await until('writing', () => load.batches > 30);
            load.mayRefuse = true;
            server.process.kill('SIGTERM');
            await until('the stop to begin', () => /stopping/.test(server.log) || server.process === null);
            await done; // all others are rejected, or have their connections closed
            if (round === 'term') await sleep(2000); // longer than the stop waits without its drain
            if (server.process === null) fail(`${round}: the stop does not wait for a request under way`);
            if (await new Promise((r) => { const s = net.connect(server.port, '127.0.0.1', () => r(s)); s.on('error', () => r(null)); }) !== null) fail(`${round}: new connections are taken while it stops`);
            const from = Date.now();
            if (round === 'term') socket.write(body.slice(20));
            else server.process.kill('SIGTERM');
            const how = await server.stop('SIGCONT');
            if (Date.now() - from > 5000) fail(`${round}: it took ${Date.now() - from} ms more`);
            if (how !== (round === 'term' ? 0 : 1)) fail(`${round}: it ended with ${how}`);
            if (/ 204 /.test(text) !== (round === 'term')) fail(`${round}: who was under way was told ${text}`);
            socket.destroy();
            await start(dir);
            await compare(ledger, round);
            const a = await server.ask('GET', `/api/query?start=${T0 - 1}&end=${T0 + 1}&m=none:drain`);
            if (!/"round":"term"/.test(a.text) || /twice/.test(a.text)) fail(`${round}: of those under way there is ${a.text}`);
            await server.stop('SIGTERM');
        }
    },

    async logs(dir) {
        for (const name of ['no room', 'moved', 'no reader', 'a lazy reader']) await logCase(dir, name);
    },

    async clock(dir) {
        const file = path.join(root, 'time'), env = fakeClock(file);
        if (env === null) { console.log('clock: left out, there is no libfaketime (package faketime)'); return; }
        const set = (s) => fs.writeFileSync(file, `${s}\n`);
        const jump = (to) => `${to - Math.floor(Date.now() / 1000) < 0 ? '' : '+'}${to - Math.floor(Date.now() / 1000)}`;
        const now = Math.floor(Date.now() / 1000);
        const times = [now, now + 3600, now - 3600, now + 315360000, now - 315360000, 86400, 2147483645, 2147483650, 4294967290, 4294967300, now];
        const ledger = new Ledger();
        set('+0');
        await start(dir, [], env);
        for (const [i, t] of times.entries()) {
            set(jump(t));
            const load = new Load(server, ledger, fail), done = load.run();
            await until(`answers at ${t}`, () => load.batches > 10);
            load.on = false;
            await done;
            const at = Math.min(t, 4294967295) - 5;
            const p = await server.ask('POST', '/api/put', [{ metric: 'clock', timestamp: at, value: i, tags: { a: 'b' } }]);
            if (p.status !== 204) fail(`a point at ${at}: ${p.status} ${p.text}`);
            const a = await server.ask('GET', '/api/query?start=1h-ago&m=sum:clock');
            // In 1970's first 50 days milliseconds pass for seconds, as in OpenTSDB.
            if (t > 4294967 && t < 4294967200 && (a.status !== 200 || JSON.parse(a.text)[0]?.dps[at] !== i)) fail(`an hour before ${t}: ${a.status} ${a.text}`);
            if (a.status >= 500) fail(`an hour before ${t}: ${a.status} ${a.text}`);
            if (i % 4 === 3) { // stopped, or killed, at one time, and started at another
                await server.stop(i % 8 === 3 ? 'SIGKILL' : 'SIGTERM');
                await start(dir, [], env);
            }
        }
        await compare(ledger, 'after all jumps');
        await server.stop('SIGTERM');
    },
};

// A server whose stderr is what the case is about, so that its port is asked of the kernel.
async function logCase(dir, name) {
    let lost = 'pipe';
    if (name === 'no room') lost = fs.openSync('/dev/full', 'w');
    if (name === 'moved') lost = fs.openSync(`${dir}.log`, 'a');
    if (name === 'a lazy reader') { // who never reads at all: 64 KB are soon full
        execFileSync('mkfifo', [`${dir}.pipe`]);
        lost = fs.openSync(`${dir}.pipe`, 'r+');
    }
    const child = spawn(halite, ['tsd', '--bind', '127.0.0.1', '--port', '0', '--data', dir, 'halite.log.level=debug', ...settings],
        { stdio: ['ignore', 'ignore', lost] });
    server.process = child;
    server.gone = new Promise((r) => child.on('exit', (code, signal) => { server.process = null; r(code ?? signal); }));
    await until('its port', () => (server.port = portOf(child.pid)) !== 0);
    const ledger = new Ledger();
    const load = new Load(server, ledger, fail), done = load.run();
    await until('writing', () => load.batches > 30);
    if (name === 'moved') fs.renameSync(`${dir}.log`, `${dir}.log.1`);
    if (name === 'no reader') child.stderr.destroy();
    const so = load.batches;
    await until('writing on', () => load.batches > so + (name === 'a lazy reader' ? 1200 : 30));
    load.on = false;
    await done;
    await compare(ledger, name);
    const how = await server.stop('SIGTERM');
    if (how !== 0) fail(`${name}: it ended with ${how}`);
    fs.rmSync(dir, { recursive: true });
    if (lost !== 'pipe') fs.closeSync(lost);
}
// The port that a process listens on, or 0.
function portOf(pid) {
    const mine = new Set();
    try {
        for (const fd of fs.readdirSync(`/proc/${pid}/fd`)) mine.add(fs.readlinkSync(`/proc/${pid}/fd/${fd}`));
    } catch { return 0; }
    for (const line of fs.readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1)) {
        const f = line.trim().split(/\s+/);
        if (f[3] === '0A' && mine.has(`socket:[${f[9]}]`)) return parseInt(f[1].split(':')[1], 16);
    }
    return 0;
}

for (const [name, test] of Object.entries(cases)) {
    if (only.length > 0 && !only.includes(name)) continue;
    const from = Date.now();
    await test(path.join(root, name));
    console.log(`${name}: ok, ${Date.now() - from} ms`);
}
process.exit(0);

// Clients that take their time: heads, bodies, readers, silence, and peers that vanish.
import { execFile, execFileSync } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { ask, open, putMany, random, say, sleep, T0, until, untilClosed } from './rig.mjs';

const LIMITS = ['halite.http.head_ms=400', 'halite.http.body_ms=600', 'halite.http.idle_ms=800'];
const many = (t) => t.long ? 1000 : 100;

// Opens 'len' connections that say 'first', then 'drip' again and again until they are cut.
async function crowd(t, len, first, drip, withinMs, { everyMs = 50 } = {}) {
    const all = await Promise.all(Array.from({ length: len }, () => open(t.port)));
    const from = Date.now();
    for (const s of all) s.write(first);
    const timer = setInterval(() => { for (const s of all) if (!s.over) s.write(drip(s)); }, everyMs);
    const cut = await until(() => all.every((s) => s.over), withinMs, 20);
    clearInterval(timer);
    for (const s of all) t.check(s.over, `not cut within ${withinMs} ms`);
    t.note(`${len} cut after ${Date.now() - from} ms`);
    for (const s of all) s.destroy();
    return cut ? all : [];
}

export default [
    {
        name: 'slow heads',
        light: true,
        settings: () => LIMITS,
        run: async (t) => {
            const [all] = await Promise.all([
                crowd(t, many(t), 'GET /api/version HTTP/1.1\r\n', () => `X-${random(1e6)}: a\r\n`, 6000),
                // A kept connection that had its answer, and drips its next request.
                crowd(t, 20, 'GET /api/version HTTP/1.1\r\nHost: x\r\n\r\nGE', () => '', 6000),
                crowd(t, 20, 'G', () => 'E', 6000),
            ]);
            for (const s of all) t.check(/ 408 /.test(s.text) || s.text === '', `said ${s.text.slice(0, 80)}`);
        },
    },
    {
        name: 'slow bodies',
        light: true,
        settings: () => LIMITS,
        run: async (t) => {
            await Promise.all([
                crowd(t, many(t), 'POST /api/put HTTP/1.1\r\nHost: x\r\nContent-Length: 30000000\r\n\r\n[', () => ' ', 6000),
                crowd(t, many(t), 'POST /api/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n', () => '1\r\n \r\n', 6000),
                crowd(t, 20, 'POST /api/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n', () => '0', 6000),
            ]);
        },
    },
    {
        name: 'slow readers',
        settings: () => [...LIMITS, 'halite.http.body_ms=400', 'halite.telnet.output_bytes=16K'],
        prepare: async (t) => {
            const lines = [];
            for (let i = 0; i < 20000; i++) lines.push(`big ${T0 + i} ${i} host=a`);
            await putMany(t.port, lines);
        },
        keptMb: 256, // in the arenas of its threads; a second wave takes no more
        run: async (t) => {
            // Large answers for many clients that read nothing.
            const len = many(t), from = Date.now();
            const q = `GET /api/query?start=${T0 - 1}&m=sum:big HTTP/1.1\r\nHost: x\r\n\r\n`;
            const all = await Promise.all(Array.from({ length: len }, () => open(t.port)));
            for (const s of all) { s.pause(); s.write(q.repeat(4)); }
            const cut = await until(() => t.server.fds() <= t.fdsBefore || t.server.proc('net/tcp') && established(t) === 0, t.long ? 60000 : 10000, 50);
            t.note(`${len} HTTP readers, cut after ${Date.now() - from} ms`);
            for (let i = 0; i < len; i++) t.check(cut, 'a reader that takes nothing is not cut');
            for (const s of all) s.destroy();
            // Telnet: answers without end, never read.
            const lines = await Promise.all(Array.from({ length: Math.min(len, 200) }, () => open(t.port)));
            for (const s of lines) { s.pause(); s.write('stats\n'.repeat(10)); s.write('nonsense\n'.repeat(2000)); }
            await sleep(300);
            for (const s of lines) t.check(!s.over, 'a telnet client that does not read is cut');
            for (const s of lines) s.destroy();
        },
    },
    {
        name: 'idle',
        light: true,
        settings: () => ['tsd.core.socket.timeout=1'],
        run: async (t) => {
            const len = many(t), from = Date.now();
            const silent = await Promise.all(Array.from({ length: len }, () => open(t.port)));
            const told = await Promise.all(Array.from({ length: len }, () => open(t.port)));
            const half = await Promise.all(Array.from({ length: len }, () => open(t.port)));
            const kept = await Promise.all(Array.from({ length: len }, () => open(t.port)));
            for (const s of told) s.write('version\n');
            for (const s of half) s.write('put half 1735689600');
            for (const s of kept) s.write('GET /api/version HTTP/1.1\r\nHost: x\r\n\r\n');
            await until(() => [silent, told, half, kept].flat().every((s) => s.over), 8000, 50);
            for (const [what, list] of Object.entries({ silent, told, half, kept }))
                for (const s of list) { t.check(s.over, `${what}: an idle connection stays`); s.destroy(); }
            t.note(`${4 * len} idle ones closed after ${Date.now() - from} ms`);
        },
    },
    {
        // Peers that vanish from one moment to the next, in namespaces of their own.
        name: 'half-open',
        light: true,
        baseline: false,
        run: async (t) => {
            const alone = ['-n', '-rn'].find((how) => {
                try { execFileSync('unshare', [how, 'ip', 'link', 'set', 'lo', 'up'], { stdio: 'ignore' }); return true; } catch { return false; }
            });
            if (alone === undefined) { t.note('LEFT OUT: no network namespace may be made here (unshare -n, ip)'); return; }
            const script = path.join(import.meta.dirname, 'half_open.mjs');
            const { stdout } = await promisify(execFile)('unshare', [alone, process.execPath, script, t.halite, ...(t.long ? ['--long'] : [])]);
            for (const [, good, what] of stdout.matchAll(/^(ok|bad|note) ?(.*)$/gm))
                if (good === 'note') t.note(what); else t.check(good === 'ok', what);
            t.check(t.tries > 50, `it ended early: ${stdout}`);
        },
    },
    {
        name: 'silent crowd at the limit',
        light: true,
        settings: () => ['tsd.core.connections.limit=60'],
        mayFail: true,
        run: async (t) => {
            // Who says nothing gives way to who has something to say.
            const silent = [];
            for (let i = 0; i < 300; i++) silent.push(await open(t.port));
            for (let i = 0; i < 30; i++) {
                const r = await say(t.port, 'version\n', { ms: 2000, done: (x) => /built/i.test(x) });
                t.check(/built/i.test(r.text), 'a client with a query is rejected for the sake of silent ones');
                const h = await ask(t.port, 'GET', '/api/version');
                t.check(h.status === 200, `HTTP, with silent ones around: ${h.status}`);
            }
            for (const s of silent) s.destroy();
        },
    },
    {
        name: 'ten thousand idle',
        byHand: true,
        process: () => ({ wrap: ['prlimit', '-n20000'] }),
        keptMb: 100,
        run: async (t) => {
            const all = [];
            for (let i = 0; i < 10000; i += 100) {
                all.push(...await Promise.all(Array.from({ length: 100 }, (_, k) =>
                    open(t.port, { from: `127.0.1.${1 + (i + k) % 200}` }))));
            }
            for (let i = 0; i < all.length; i++)
                if (i % 3 === 1) all[i].write('version\n');
                else if (i % 3 === 2) all[i].write('GET /api/version HTTP/1.1\r\nHost: x\r\n\r\n');
            await until(() => all.every((s, i) => i % 3 === 0 || s.text.length > 0), 20000, 50);
            for (let i = 0; i < all.length; i++) t.check(!all[i].over && (i % 3 === 0 || all[i].text.length > 0), `connection ${i}: ${all[i].failure ?? 'no answer'}`);
            const cpu = t.server.cpuMs();
            await sleep(2000);
            t.note(`${all.length} connections: ${t.server.rss().toFixed(0)} MB, ${((t.server.cpuMs() - cpu) / 20).toFixed(1)} % CPU`);
            for (const s of all) s.destroy();
        },
    },
    {
        // A flood of connections that end at once, by FIN and by reset.
        name: 'come and go',
        // An end that comes together with the last bytes is seen after two looks.
        settings: () => LIMITS,
        run: async (t) => {
            for (let i = 0; i < (t.long ? 200 : 3); i++) {
                const all = await Promise.all(Array.from({ length: 50 }, () => open(t.port)));
                for (const s of all) {
                    const what = random(6);
                    if (what === 1) s.write('G');
                    else if (what === 2) s.write('p');
                    else if (what === 3) s.write('GET /api/version HTTP/1.1\r\nHost: x\r\n\r\n');
                    else if (what === 4) s.write('POST /api/put HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n[');
                    else if (what === 5) s.write('put x 1');
                    if (random(2)) s.resetAndDestroy(); else s.end();
                }
                await Promise.all(all.map((s) => untilClosed(s, 3000)));
                for (const s of all) { t.check(s.over, 'not closed after our end'); s.destroy(); }
            }
        },
    },
];

// Established connections of the server's port whose client is at 127.0.0.1 (the baseline one
// is at 127.0.0.2), as the kernel lists them.
function established(t) {
    const hex = t.port.toString(16).toUpperCase().padStart(4, '0');
    return t.server.proc('net/tcp').split('\n').filter((l) => {
        const f = l.trim().split(/\s+/);
        return f[1]?.endsWith(`:${hex}`) && f[2]?.startsWith('0100007F') && f[3] === '01';
    }).length;
}

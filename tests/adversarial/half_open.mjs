// half_open.mjs HALITE [--long]: peers that vanish, without a FIN and without a
// reset.  Runs in a network namespace of its own, with the server; the peers are in a
// second one, at the other end of a cable, which is pulled.  Tells its parent, a line
// each: "ok", "bad WHAT", "note WHAT".
import { execFileSync, spawn } from 'node:child_process';
import { ask, open, putMany, say, Server, sleep, T0, until } from './rig.mjs';

const US = '10.0.0.1', THEM = '10.0.0.2';
const [halite, ...words] = process.argv.slice(2);

// -- the peers: this program again, in the other namespace ----------------------
const q = `GET /api/query?start=${T0 - 1}&m=sum:big HTTP/1.1\r\nHost: x\r\n\r\n`;
const kinds = {
    silent: [],
    'telnet, idle': ['version\n'],
    'half a line': ['put half 1735689600'],
    'telnet, does not read': ['stats\n'.repeat(200)],
    'HTTP, idle': ['GET /api/version HTTP/1.1\r\nHost: x\r\n\r\n'],
    'half a head': ['GET /api/version HTTP/1.1\r\nHo'],
    'half a body': ['POST /api/put HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n['],
    'half a chunk': ['POST /api/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n['],
    'does not read': [q.repeat(4)],
};
const EACH = words.includes('--long') ? 50 : 5;
if (words.includes('peer')) {
    const port = Number(words[words.indexOf('peer') + 1]), only = words.includes('idle');
    for (let i = 0; i < EACH; i++)
        for (const [kind, bytes] of Object.entries(kinds)) {
            if (only && kind !== 'telnet, idle') continue;
            const s = await open(port, { host: US });
            if (s.failure) { console.log(`no connection: ${s.failure}`); process.exit(1); }
            if (kind.includes('not read')) s.pause();
            for (const b of bytes) s.write(b);
        }
    await sleep(200); // what was asked is under way
    console.log('there');
    await sleep(1e9);
}

// -- the server's side ------------------------------------------------------------
const check = (good, what) => console.log(good ? 'ok' : `bad ${what}`);
const sh = (...argv) => execFileSync(argv[0], argv.slice(1), { stdio: ['ignore', 'ignore', 'inherit'] });

// A cable to a namespace in which nothing is but its end.
async function cable() {
    const far = spawn('unshare', ['-n', 'sleep', '1000'], { stdio: 'ignore' });
    const inside = (...argv) => sh('nsenter', '-t', `${far.pid}`, '-n', ...argv);
    process.on('exit', () => far.kill('SIGKILL'));
    // Until it has left our namespace.
    const ns = (pid) => execFileSync('readlink', [`/proc/${pid}/ns/net`]).toString();
    await until(() => ns(far.pid) !== ns(process.pid), 5000);
    sh('ip', 'link', 'add', 'near', 'type', 'veth', 'peer', 'name', 'far', 'netns', `${far.pid}`);
    sh('ip', 'addr', 'add', `${US}/24`, 'dev', 'near');
    inside('ip', 'addr', 'add', `${THEM}/24`, 'dev', 'far');
    sh('ip', 'link', 'set', 'near', 'up');
    inside('ip', 'link', 'set', 'far', 'up');
    return { far, pull: () => inside('ip', 'link', 'set', 'far', 'down'), plug: () => inside('ip', 'link', 'set', 'far', 'up') };
}
// Connections to the peers' side, as the kernel has them: {state, timer}.
function connections(server) {
    const hex = THEM.split('.').reverse().map((x) => Number(x).toString(16).padStart(2, '0')).join('').toUpperCase();
    return server.proc('net/tcp').split('\n').map((l) => l.trim().split(/\s+/)).filter((f) => f[2]?.startsWith(hex)).map((f) => ({ state: f[3], timer: f[5].slice(0, 2) }));
}
const established = (server) => connections(server).filter((c) => c.state === '01').length;

// Peers come, and are gone: 'f' looks at what becomes of their connections.
async function vanish(line, settings, f, ...more) {
    const server = await Server.start(halite, ['--memory', '--bind', '0.0.0.0', ...settings]);
    await putMany(server.port, Array.from({ length: 20000 }, (_, i) => `big ${T0 + i} ${i} host=a`));
    const fds = server.fds();
    const peer = spawn('nsenter', ['-t', `${line.far.pid}`, '-n', process.execPath, import.meta.filename, halite, ...words, 'peer', `${server.port}`, ...more], { stdio: ['ignore', 'pipe', 'inherit'] });
    let said = '';
    peer.stdout.on('data', (d) => { said += d; });
    await until(() => said.length > 0, 10000);
    check(said === 'there\n', `the peers: ${said}`);
    check(established(server) > 0, 'no peer is there');
    line.pull();
    peer.kill('SIGKILL'); // its end and its resets are lost
    await f(server, fds);
    check(server.alive, `the server is dead: ${server.ended}\n${server.log.slice(-1500)}`);
    await server.stop();
    check(/status 0/.test(server.ended), `it ended with ${server.ended}`);
    line.plug();
}

sh('ip', 'link', 'set', 'lo', 'up');
const line = await cable();
const from = Date.now();
await vanish(line, ['tsd.core.socket.timeout=1', 'halite.http.head_ms=400', 'halite.http.body_ms=600', 'halite.http.idle_ms=800'], async (server, fds) => {
    const was = established(server);
    for (let i = 0; i < 20; i++) { // others notice nothing
        check((await ask(server.port, 'GET', '/api/version', undefined, { ms: 2000 })).status === 200, 'HTTP, beside half-open connections');
        check(/built/i.test((await say(server.port, 'version\n', { ms: 5000, done: (x) => /built/i.test(x) })).text), 'telnet, beside half-open connections');
    }
    check(await until(() => server.fds() <= fds, 8000, 20), `of ${was} half-open connections ${established(server)} are kept: ${server.fds()} descriptors, before ${fds}`);
    console.log(`note ${was} half-open, gone after ${Date.now() - from} ms`);
});
// Without limits on idling the kernel asks after the peer.
await vanish(line, [], async (server, fds) => {
    const all = connections(server).filter((c) => c.state === '01');
    for (const c of all) check(c.timer === '02', `an idle connection has the timer ${c.timer}, not one that asks after its peer`);
    if (!words.includes('--long')) return;
    check(await until(() => server.fds() <= fds, 300000, 500), `half-open telnet connections are kept: ${server.fds()} descriptors, before ${fds}`);
    console.log('note telnet without a limit: gone, too');
}, 'idle');
process.exit(0);

// A server without file descriptors, and one without memory.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { ask, hear, open, putMany, random, say, sleep, T0, until } from './rig.mjs';

const point = (i, metric = 'scarce') => JSON.stringify([{ metric, timestamp: T0 + i, value: i, tags: { host: `h${i % 50}` } }]);

async function descriptors(t) {
    // Twice as many as there can be; some say something, some do not, some half.
    const all = [];
    for (let i = 0; i < 150; i++) {
        const s = await open(t.port);
        all.push(s);
        const what = random(4);
        if (what === 1) s.write('version\n');
        else if (what === 2) s.write('GET /api/version HTTP/1.1\r\nHost: x\r\n\r\n');
        else if (what === 3) s.write('put scarce');
    }
    const cpu = t.server.cpuMs(), from = Date.now();
    await sleep(t.long ? 5000 : 500);
    const spent = t.server.cpuMs() - cpu, took = Date.now() - from;
    t.check(spent < took * 0.6, `it spins: ${spent} ms of CPU time in ${took} ms`);
    t.note(`${spent} ms of CPU in ${took} ms, ${t.server.fds()} descriptors`);
    for (const s of all) { t.check(true, ''); s.destroy(); }
    await until(() => t.server.fds() < 45, 3000);
    // The store has its files, whatever connections want: points that fill segments of the
    // WAL, and the engine, beside as many connections as are let in.
    const putter = await open(t.port);
    putter.write('version\n');
    await hear(putter, (x) => /built/i.test(x));
    const busy = await Promise.all(Array.from({ length: 80 }, () => open(t.port)));
    for (const s of busy) s.write('version\n');
    await until(() => busy.every((s) => s.over || s.text.length > 0), 3000);
    t.note(`${busy.filter((s) => !s.over).length} of 80 are let in`);
    for (let i = 0; i < 20; i++) {
        const r = await ask(t.port, 'POST', '/api/put', point(i));
        if (r.status !== 204) t.check(r.status === 0 || r.status === 503, `a put among many connections: ${r.status} ${r.body.slice(0, 100)}`);
    }
    for (let i = 0; i < 30000; i += 1000)
        putter.write(Array.from({ length: 1000 }, (_, k) => `put fill${(i + k) % 40} ${T0 + (i + k) * 3} ${(i + k) * 7919 % 100003} host=h${(i + k) % 97}\n`).join(''));
    putter.write('exit\n');
    await hear(putter, null, 30000);
    t.check(putter.over && !/put:|storage error/.test(putter.text), `the store lacks files: ${putter.text.slice(0, 300)}`);
    for (const s of [putter, ...busy]) s.destroy();
    await until(() => t.server.fds() < 45, 3000);
    for (let i = 0; i < 20; i++) t.check((await ask(t.port, 'GET', `/api/query?start=${T0}&end=${T0 + 100000}&m=sum:fill${i}`)).status === 200, 'a query after it');
    t.check(!/Too many open files/.test(t.server.log.replace(/rejected[^\n]*/g, '')), `the log: ${t.server.log.slice(-500)}`);
}

const tell = (t, text) => fs.writeFileSync(t.control, text);
const requests = [
    (t, i) => ask(t.port, 'POST', '/api/put?details', point(i)),
    (t, i) => ask(t.port, 'POST', '/api/put', point(i, `new${i}`)),
    (t) => ask(t.port, 'GET', `/api/query?start=${T0 - 1}&end=${T0 + 7200}&m=sum:1m-avg:base{host=*}`),
    (t) => ask(t.port, 'GET', `/api/query?start=${T0 - 1}&end=${T0 + 7200}&m=sum:base{host=regexp(h.*)}`),
    (t) => ask(t.port, 'POST', '/api/query/exp', JSON.stringify({ time: { start: `${T0}`, end: `${T0 + 7200}`, aggregator: 'sum' }, filters: [{ id: 'f', tags: [{ type: 'wildcard', tagk: 'host', filter: '*', groupBy: true }] }], metrics: [{ id: 'a', metric: 'base', filter: 'f' }], expressions: [{ id: 'e', expr: 'a+1' }] })),
    (t) => ask(t.port, 'GET', `/api/query/gexp?start=${T0}&end=${T0 + 7200}&exp=scale(sum:base,2)`),
    (t) => ask(t.port, 'GET', '/api/suggest?type=metrics&q=b'),
    (t) => ask(t.port, 'GET', '/api/search/lookup?m=base'),
    (t) => ask(t.port, 'GET', '/api/stats'),
    (t) => ask(t.port, 'GET', '/api/query/last?timeseries=base&back_scan=24'),
    (t) => ask(t.port, 'POST', '/api/annotation', JSON.stringify({ startTime: T0, description: 'x'.repeat(2000), custom: { a: 'b' } })),
    (t, i) => say(t.port, `put tel ${T0 + i} 1 host=h${i}\nversion\nstats\nexit\n`, { ms: 6000 }).then((r) => ({ status: r.closed ? 200 : 0 })),
];
const EXP = 4;
const WELL = 6; // of the kinds above, those that must work again at once

// The n-th allocation fails, once, in the course of each kind of request.
async function nth(t) {
    const most = t.long ? 400 : 8;
    let rejected = 0, i = 0;
    // Each allocation of an expression, whose answer begins after some 500 of them.
    for (let n = 1; n <= 900 && t.server.alive; n += t.long ? 1 : 1 + random(20)) {
        tell(t, `${n} ${i}`);
        await sleep(3);
        rejected += (await requests[EXP](t, i++)).status !== 200;
        t.check(t.server.alive, `dead of allocation ${n} in an expression`);
    }
    for (let n = 1; n <= most; n++)
        for (const request of requests) {
            if (!t.server.alive) return;
            tell(t, `${t.long ? n : 1 + random(120)} ${i}`);
            await sleep(2);
            const r = await request(t, i++);
            t.check(t.server.alive, `dead of allocation ${n} in ${request}`);
            rejected += r.status >= 400 || r.status === 0;
        }
    tell(t, '');
    await sleep(20); // until the shim has read it: one more may fail
    t.note(`${rejected} of ${i} were rejected`);
    for (let k = 0; k < WELL; k++) t.check((await requests[k](t, i++)).status < 300, `afterwards, ${requests[k]}`);
}

// Each third, tenth, hundredth fails for a while.
async function often(t) {
    for (const how of ['/200', '/30', '/7>1000', '/2>65536', '/1>1000000']) {
        tell(t, how);
        await sleep(3);
        const all = await Promise.all(Array.from({ length: t.long ? 100 : 24 }, (_, i) => requests[i % requests.length](t, i)));
        for (const r of all) t.check(t.server.alive, `dead of ${how}: ${r.status}`);
        tell(t, '');
        await sleep(3);
        if (!t.server.alive) return;
        for (let k = 0; k < WELL; k++) t.check((await requests[k](t, 1000 + k)).status < 300, `after ${how}, ${requests[k]}`);
    }
}

const base = async (t) => putMany(t.port, Array.from({ length: 5000 }, (_, i) => `base ${T0 + i} ${i} host=h${i % 50}`));
const shim = {
    process: (t) => {
        t.control = path.join(t.folder('nomem'), 'control');
        fs.writeFileSync(t.control, '');
        return { env: { LD_PRELOAD: path.join(t.root, 'nomem.so'), HALITE_NOMEM: t.control } };
    },
    prepare: base,
    mayFail: true,
    floorMs: 1000, // it waits for memory
};

export default [
    {
        name: 'no descriptors',
        light: true,
        process: () => ({ wrap: ['prlimit', '-n64'] }),
        settings: (t) => ['--data', t.folder('data'), 'halite.store.journal_segment_bytes=64K', 'halite.store.write_buffer_bytes=1M', 'tsd.core.socket.timeout=3'],
        mayFail: true,
        run: descriptors,
    },
    { name: 'the n-th allocation fails', ...shim, run: nth, settings: (t) => ['--data', t.folder('data')] },
    { name: 'many allocations fail', ...shim, run: often, settings: (t) => ['--data', t.folder('data')] },
    {
        // Much less address space than all its limits together: counted from what it has
        // when it serves, which depends on the machine's processors (a thread's stack, an
        // arena of malloc).
        name: 'no address space',
        prepare: base,
        mayFail: true,
        keptMb: 300,
        floorMs: 500,
        run: async (t) => {
            const has = 1024 * Number(/VmSize:\s+(\d+)/.exec(t.server.proc('status'))[1]);
            execFileSync('prlimit', ['--pid', `${t.server.pid}`, `--as=${has + 150e6}`]);
            t.note(`${Math.round(has / 1e6)} MB and 150 more`);
            const body = Buffer.alloc(30 << 20, ' ');
            for (let round = 0; round < (t.long ? 3 : 1); round++) {
                const all = await Promise.all(Array.from({ length: 12 }, (_, i) => i % 2
                    ? ask(t.port, 'POST', '/api/put', body, { ms: 20000 })
                    : ask(t.port, 'POST', '/api/query', JSON.stringify({ start: T0 - 86400 * 3000, end: T0 + 7200, queries: [{ aggregator: 'sum', metric: 'base', downsample: '10s-avg-zero', filters: [{ type: 'wildcard', tagk: 'host', filter: '*', groupBy: true }] }] }), { ms: 20000 })));
                for (const r of all) t.check(t.server.alive && r.status >= 400, `without memory: ${r.status} ${r.body?.slice(0, 100)}`);
                if (!t.server.alive) return;
            }
            for (let k = 0; k < WELL; k++) t.check((await requests[k](t, k)).status < 300, `afterwards, ${requests[k]}`);
        },
    },
];

// greedy.mjs HALITE SECONDS [MEGABYTES]: one greedy client against everybody else.
//
// A server with default settings runs in a memory cgroup of MEGABYTES (2048 if not given).
// A client that may write and query tries to exhaust it: its processes (at nice 10) repeat
// every attack of the list ATTACKS at full size until SECONDS are over.  Meanwhile another
// client puts points and queries them.  The run fails when
//   - the server exits, or the kernel kills it;
//   - the other client's 99th percentile reaches P99_MS, or one of its requests WORST_MS;
//   - one of its requests fails, or a point that was acknowledged to it is missing afterwards;
//   - the server uses more than BUDGET_FACTOR of what its memory settings add up to.
// Exit status: 0 passed, 1 failed, 77 if no memory cgroup can be created.
// GREEDY_ONLY=name,name restricts the attacks; GREEDY_VERBOSE=1 prints each attack as it ends.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { ask, open, random, reseed, Server, sleep, until } from './rig.mjs';

const P99_MS = 250;
const WORST_MS = 2000;
const BUDGET_FACTOR = 1.2;
const STOP_MS = 60000; // halite.drain_ms and flushing all rows
const FIXED_MB = 96; // program, threads, LevelDB's tables that are not in its cache
const GREEDY_FROM = '127.0.0.3'; // the address of the greedy client
const DAY = 86400;

// -- the greedy client ----------------------------------------------------------

// Sends chunk(i) for i = 0 .. on one telnet connection, as fast as the server reads,
// until chunk() returns null or 'endMs' has come.
async function sendTelnet(port, endMs, chunk) {
    const s = await open(port, { from: GREEDY_FROM });
    for (let i = 0; Date.now() < endMs && !s.over; i++) {
        const bytes = chunk(i);
        if (bytes === null) break;
        if (!s.write(bytes)) await Promise.race([new Promise((r) => s.once('drain', r)), new Promise((r) => s.once('close', r)), sleep(Math.max(1, endMs - Date.now()))]);
        s.chunks = [];
    }
    s.end('exit\n');
    await Promise.race([until(() => s.over, Math.max(1, endMs - Date.now()), 50), sleep(3000)]);
    s.destroy();
}
const greedyAsk = (port, method, target, body, ms) => ask(port, method, target, body, { from: GREEDY_FROM, ms });
const query = (port, from, to, m, ms = 30000) => greedyAsk(port, 'GET', `/api/query?start=${from}&end=${to}&m=${encodeURIComponent(m)}`, undefined, ms);

// Opens 'n' connections that ask for 'target' and do not read the answer for 'ms'.
async function neverRead(port, n, target, ms) {
    const all = await Promise.all(Array.from({ length: n }, () => open(port, { from: GREEDY_FROM })));
    for (const s of all) { s.pause(); s.write(`GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`); }
    await sleep(ms);
    for (const s of all) s.destroy();
}
async function inParallel(n, f) { await Promise.all(Array.from({ length: n }, (_, i) => f(i))); }
const now = () => Math.floor(Date.now() / 1000);
const longName = (i) => `${'web-server-with-a-long-name'.repeat(4)}-${i}`;

// Each attack gets the port and the time (ms since 1970) by which it has to end.
const ATTACKS = {
    // 60 million repetitions of one point, then a query that unpacks them.
    async repeats(port, endMs) {
        const t = Math.floor(now() / 3600) * 3600, bytes = Buffer.from(`put greed.repeat ${t} 1 h=a\n`.repeat(50000));
        await sendTelnet(port, endMs, (i) => (i < 1200 ? bytes : null));
        await query(port, t - 10, t + 3600, 'sum:greed.repeat');
    },
    // Many hosts write into one series without tags.
    async untagged(port, endMs) {
        const t = Math.floor(now() / 3600) * 3600;
        await sendTelnet(port, endMs, (i) => {
            if (i >= 400) return null;
            let text = '';
            for (let k = 0; k < 10000; k++) text += `put greed.untagged ${t + (i * 10000 + k) % 3600} ${random(1000000) / 1000} h=a\n`;
            return text;
        });
    },
    // A row above 64 MB: a point each millisecond, full-precision doubles.
    async 'giant row'(port, endMs) {
        const t = (Math.floor(now() / 21600) - 2) * 21600 * 1000;
        await sendTelnet(port, endMs, (i) => {
            if (i >= 1080) return null;
            let text = '';
            for (let k = 0; k < 10000; k++) text += `put greed.giant ${t + i * 10000 + k} ${Math.random()} h=a\n`;
            return text;
        });
    },
    // 1.5 million series with long names.
    async series(port, endMs) {
        const t = now(), first = random(1 << 30);
        await sendTelnet(port, endMs, (i) => {
            if (i >= 750) return null;
            let text = '';
            for (let k = 0; k < 2000; k++) text += `put greed.series ${t} 1 pod=${longName(first % 4 * 2000000 + i * 2000 + k)}\n`;
            return text;
        });
    },
    // Answers about many names and series that are never read.
    async 'unread answers'(port) {
        await inParallel(4, (i) => neverRead(port, 16, ['/api/suggest?type=tagv&max=2147483647', '/api/search/lookup?m=greed.series&limit=0&useMeta=false', '/api/uid/tsmeta?m=greed.series', '/api/cardinality'][i], 8000));
    },
    async 'unread exports'(port) {
        const t = now();
        await neverRead(port, 32, `/api/query?start=${t - 7200}&end=${t}&m=none:greed.series`, 8000);
        await neverRead(port, 32, `/api/query?start=${t - DAY}&end=${t}&m=none:greed.giant`, 8000);
    },
    async 'all series'(port) {
        const t = now();
        await inParallel(6, (i) => query(port, t - 7200, t, ['sum:greed.series', 'p99:1h-avg:greed.series', 'none:1h-count:greed.series', 'count:greed.series{pod=*}', 'max:1m-max-zero:greed.series{pod=*}', 'dev:greed.series'][i]));
    },
    // Functions that need all values of a bucket at once.
    async percentiles(port) {
        const t = now();
        await inParallel(6, (i) => query(port, t - 7 * DAY, t, `sum:0all-${['p99', 'median', 'dev', 'p50', 'mult', 'p999'][i]}:greed.giant`));
        await inParallel(4, (i) => query(port, t - 7 * DAY, t, `sum:${['1h', '6h', '1d', '1nc'][i]}-p95:greed.giant`));
    },
    async fills(port) {
        const t = now();
        await inParallel(5, (i) => query(port, t - 120 * DAY, t, `${['none', 'sum', 'none:rate', 'p99', 'none'][i]}:1s-sum-${['zero', 'nan', 'null', 'zero', 'scalar#1'][i]}:greed.untagged`));
        await inParallel(3, () => query(port, t - 120 * DAY, t, 'none:1s-sum-zero:greed.series'));
    },
    // Incomplete lines, and answers that are never read, on thousands of connections.
    async 'half lines'(port) {
        const all = await Promise.all(Array.from({ length: 4000 }, () => open(port, { from: GREEDY_FROM })));
        const half = Buffer.alloc(60000, 'put greed.half ');
        for (const s of all) if (!s.failure) s.write(half);
        await sleep(6000);
        for (const s of all) s.destroy();
    },
    async 'unread telnet'(port) {
        const all = await Promise.all(Array.from({ length: 1000 }, () => open(port, { from: GREEDY_FROM })));
        for (const s of all) { s.pause(); s.write('stats\nhelp\n'.repeat(200)); }
        await sleep(6000);
        for (const s of all) s.destroy();
    },
    async lookups(port) {
        const tags = Array.from({ length: 8000 }, (_, i) => ({ key: 'pod', value: longName(i) }));
        await inParallel(6, () => greedyAsk(port, 'POST', '/api/search/lookup', JSON.stringify({ metric: 'greed.series', tags, limit: 10 }), 30000));
    },
    // A rare set of tag keys beside very many series.
    async 'rare tag keys'(port, endMs) {
        const t = now();
        await sendTelnet(port, endMs, (i) => (i < 1 ? Array.from({ length: 5 }, (_, k) => `put greed.series ${t} 1 region=r${k}\n`).join('') : null));
        await inParallel(8, (i) => query(port, t - 30 * DAY, t, `sum:greed.series{region=${i % 2 ? '*' : 'r0'}}`));
    },
    // Bodies that are rejected after much work, and deep ones.
    async bodies(port) {
        const bad = `[${'{"metric":"greed.body","timestamp":1,"value":"x","tags":{"h":"\\u0000a"}},'.repeat(400000)}x`;
        await inParallel(8, (i) => greedyAsk(port, 'POST', i % 2 ? '/api/put?details' : '/api/query', bad.slice(0, 32000000), 30000));
        await inParallel(8, () => greedyAsk(port, 'POST', '/api/query', '['.repeat(30000000), 30000));
    },
    async 'many groups'(port) {
        const t = now();
        await inParallel(6, (i) => query(port, t - DAY, t, `sum:${i % 2 ? '1m-avg-nan:' : ''}greed.series{pod=*}`));
    },
    async 'many sub-queries'(port) {
        const t = now(), queries = Array.from({ length: 1000 }, (_, i) => ({ aggregator: 'sum', metric: 'greed.untagged', downsample: `${i + 1}s-p9${i % 10}-zero` }));
        await inParallel(6, () => greedyAsk(port, 'POST', '/api/query', JSON.stringify({ start: t - 30 * DAY, end: t, queries }), 30000));
    },
    async expressions(port) {
        const t = now();
        await inParallel(6, (i) => greedyAsk(port, 'GET', `/api/query/gexp?start=${t - 7 * DAY}&end=${t}&exp=${encodeURIComponent(`sumSeries(${Array(20).fill('sum:greed.series{pod=*}').join(',')})`)}&i=${i}`, undefined, 30000));
    },
    async last(port) {
        await inParallel(6, (i) => greedyAsk(port, 'GET', `/api/query/last?timeseries=greed.series&back_scan=${i * 100}&resolve=true`, undefined, 30000));
    },
};

async function greedy(port, seed, endMs) {
    reseed(seed);
    const only = process.env.GREEDY_ONLY?.split(',');
    const names = Object.keys(ATTACKS).filter((n) => !only || only.includes(n));
    for (let i = random(names.length); Date.now() < endMs; i++) {
        const name = names[i % names.length], from = Date.now();
        try {
            await Promise.race([ATTACKS[name](port, Math.min(endMs, Date.now() + 60000)), sleep(Math.min(90000, endMs - from))]);
        } catch (e) {
            if (!/ECONN|EPIPE/.test(e.message)) process.send?.({ note: `${name}: ${e.message}` });
        }
        process.send?.({ attack: name, ms: Date.now() - from });
    }
    process.exit(0);
}

// -- the memory cgroup ------------------------------------------------------------

// Returns {join, remove, used} of a new memory cgroup of 'bytes', or null.
function memoryCgroup(bytes) {
    const name = `halite-greedy-${process.pid}`;
    for (const [dir, limit, used] of [
        [`/sys/fs/cgroup/memory/${name}`, 'memory.limit_in_bytes', 'memory.max_usage_in_bytes'],
        [`/sys/fs/cgroup/${name}`, 'memory.max', 'memory.peak'],
    ]) {
        try {
            if (!fs.existsSync(path.dirname(dir))) continue;
            fs.mkdirSync(dir);
            fs.writeFileSync(`${dir}/${limit}`, String(bytes));
            return { join: `${dir}/cgroup.procs`, remove: () => { try { fs.rmdirSync(dir); } catch { /* a process is still ending */ } }, used };
        } catch { try { fs.rmdirSync(dir); } catch { /* was not created */ } }
    }
    return null;
}

// -- the other client ----------------------------------------------------------------

// Puts PER_PUT points and queries them, one request after the other, on a connection that stays open.
const PER_PUT = 5;
class Neighbour {
    constructor(port) {
        this.port = port;
        this.agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
        this.took = [];
        this.failed = [];
        this.acknowledged = new Map(); // host -> Map(timestamp -> value)
        this.over = false;
    }
    request(method, target, body) {
        return new Promise((resolve, reject) => {
            const r = http.request({ host: '127.0.0.1', localAddress: '127.0.0.2', port: this.port, method, path: target, agent: this.agent, timeout: 30000 }, (m) => {
                const parts = [];
                m.on('data', (d) => parts.push(d));
                m.on('end', () => resolve({ status: m.statusCode, text: Buffer.concat(parts).toString() }));
                m.on('error', reject);
            });
            r.on('timeout', () => r.destroy(new Error('no answer in 30 s')));
            r.on('error', reject);
            r.end(body);
        });
    }
    async timed(what, method, target, body) {
        const from = performance.now();
        let r;
        try { r = await this.request(method, target, body); } catch (e) { r = { status: 0, text: e.message }; }
        const ms = performance.now() - from;
        this.took.push({ what, ms, at: Date.now() });
        if (r.status !== 200 && r.status !== 204) this.failed.push(`${what}: ${r.status} ${r.text.slice(0, 200)}`);
        return r;
    }
    async live() {
        for (let i = 0; !this.over; i++) {
            const host = `n${i % 20}`, t = now(), points = [];
            for (let k = 0; k < PER_PUT; k++) points.push({ metric: 'greed.neighbour', timestamp: t * 1000 + (i * PER_PUT + k) % 1000, value: i * PER_PUT + k, tags: { host } });
            const r = await this.timed('put', 'POST', '/api/put', JSON.stringify(points));
            if (r.status === 204 || r.status === 200) {
                if (!this.acknowledged.has(host)) this.acknowledged.set(host, new Map());
                for (const p of points) this.acknowledged.get(host).set(p.timestamp, p.value);
            }
            await this.timed('query', 'GET', `/api/query?start=${t - 300}&end=${t + 1}&m=sum:10s-avg:greed.neighbour%7Bhost=*%7D`);
            await sleep(20);
        }
    }
    // Returns how many acknowledged points are missing or different.
    async missing(from) {
        const r = await this.request('GET', `/api/query?start=${from - 10}&end=${now() + 10}&ms=true&m=none:greed.neighbour`);
        if (r.status !== 200) return `the query for all points: ${r.status} ${r.text.slice(0, 200)}`;
        const found = new Map(JSON.parse(r.text).map((g) => [g.tags.host, g.dps]));
        let n = 0;
        for (const [host, points] of this.acknowledged) for (const [t, v] of points) if (found.get(host)?.[t] !== v) n++;
        return n;
    }
}

async function memorySettings(port) {
    const r = await ask(port, 'GET', '/api/config', undefined, { from: '127.0.0.2' });
    const config = JSON.parse(r.body), sum = {};
    for (const key of ['halite.store.head_bytes', 'halite.store.cache_bytes', 'halite.put.cache_bytes', 'halite.queries.bytes', 'halite.answers.bytes', 'halite.http.bodies_bytes', 'halite.telnet.total_bytes'])
        if (config[key] !== undefined) sum[key] = Number(config[key].replace(/[KMG]$/, '')) * ({ K: 1 << 10, M: 1 << 20, G: 1 << 30 }[config[key].slice(-1)] ?? 1) / (1 << 20);
    for (const [key, bytes] of Object.entries({ 'halite.series.cache_entries': 160, 'halite.uid.cache_entries': 200 }))
        sum[key] = Math.round(Number(config[key]) * bytes / (1 << 20));
    if (config['halite.store.write_buffer_bytes'] !== undefined) sum['halite.store.write_buffer_bytes (2)'] = 2 * (parseInt(config['halite.store.write_buffer_bytes'], 10) > 100000 ? parseInt(config['halite.store.write_buffer_bytes'], 10) / (1 << 20) : parseInt(config['halite.store.write_buffer_bytes'], 10));
    return sum;
}

async function main(halite, seconds, megabytes) {
    const group = memoryCgroup(megabytes * (1 << 20));
    if (!group) { console.log('skipped: no memory cgroup can be created here'); process.exit(77); }
    const folder = fs.mkdtempSync(path.join(process.env.TMPDIR ?? os.tmpdir(), 'greedy-'));
    const seed = process.env.HALITE_SEED ?? String(Date.now());
    console.log(`seed ${seed}, ${seconds} s, ${megabytes} MB`);
    const bad = [];
    const server = await Server.start(halite, ['--data', `${folder}/data`], { wrap: ['sh', '-c', `echo $$ >${group.join}; exec "$@"`, 'sh'] });
    const budgets = await memorySettings(server.port);
    const budgetMb = Object.values(budgets).reduce((a, b) => a + b, FIXED_MB);
    console.log(`memory settings in MB: ${Object.entries(budgets).map(([k, v]) => `${k.replace('halite.', '')} ${v}`).join(', ')}; with ${FIXED_MB} fixed: ${budgetMb.toFixed(0)}`);
    const neighbour = new Neighbour(server.port), began = now();
    const living = neighbour.live();
    await sleep(Math.min(3000, seconds * 100));
    const quiet = neighbour.took.length;
    const endMs = Date.now() + seconds * 1000, runs = {};
    const others = Array.from({ length: 4 }, (_, i) => {
        const c = spawn('nice', ['-n', String(10 - os.getPriority()), process.execPath, import.meta.filename, '--greedy', server.port, `${seed}-${i}`, endMs], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
        c.on('message', (m) => {
            if (m.note) console.log(m.note);
            if (m.attack) {
                (runs[m.attack] ??= []).push(m.ms);
                const slow = neighbour.took.slice(quiet).reduce((a, x) => Math.max(a, x.ms), 0);
                if (process.env.GREEDY_VERBOSE) console.log(`${((Date.now() - endMs) / 1000 + seconds).toFixed(0)} s: ${m.attack} took ${m.ms} ms; rss ${server.alive ? server.rss().toFixed(0) : '-'} MB, peak ${server.alive ? server.peak().toFixed(0) : '-'}; neighbour's worst ${slow.toFixed(0)} ms, failures ${neighbour.failed.length}`);
            }
        });
        return { child: c, gone: new Promise((r) => c.on('exit', r)) };
    });
    let peak = 0, peakRss = 0;
    while (Date.now() < endMs && server.alive) {
        try { peakRss = Math.max(peakRss, server.rss()); peak = Math.max(peak, server.peak()); } catch { break; }
        await sleep(50);
    }
    neighbour.over = true;
    await living;
    if (!server.alive) bad.push(`the server ended: ${server.ended}\n${server.log.slice(-2000)}`);
    await Promise.race([Promise.all(others.map((o) => o.gone)), sleep(20000)]);
    for (const o of others) o.child.kill('SIGKILL');
    const took = neighbour.took.slice(quiet).map((x) => x.ms).sort((a, b) => a - b);
    const p99 = took[Math.floor(took.length * 0.99)] ?? Infinity, worst = took.at(-1) ?? Infinity;
    const slowest = neighbour.took.slice(quiet).sort((a, b) => b.ms - a.ms).slice(0, 5)
        .map((x) => `${x.what} ${x.ms.toFixed(0)} ms, answered at ${((x.at - endMs) / 1000 + seconds).toFixed(1)} s`);
    const before = neighbour.took.slice(0, quiet).map((x) => x.ms).sort((a, b) => a - b);
    if (p99 >= P99_MS) bad.push(`the neighbour's p99 is ${p99.toFixed(0)} ms`);
    if (worst >= WORST_MS) bad.push(`the neighbour's slowest request took ${worst.toFixed(0)} ms`);
    if (neighbour.failed.length) bad.push(`${neighbour.failed.length} of the neighbour's ${took.length} requests failed, first: ${neighbour.failed[0]}`);
    if (peak > budgetMb * BUDGET_FACTOR) bad.push(`the server used ${peak.toFixed(0)} MB, more than ${BUDGET_FACTOR} of ${budgetMb.toFixed(0)}`);
    if (server.alive) {
        const lost = await neighbour.missing(began);
        if (lost !== 0) bad.push(`acknowledged points that are missing: ${lost}`);
    }
    await server.stop(STOP_MS);
    if (server.ended !== 'status 0' && server.ended !== undefined) bad.push(`the server's end: ${server.ended}`);
    const unused = Object.keys(ATTACKS).filter((n) => !runs[n]);
    console.log(`attacks: ${Object.entries(runs).map(([n, a]) => `${n} ${a.length}`).join(', ')}${unused.length ? `; not reached: ${unused.join(', ')}` : ''}`);
    console.log(`neighbour: ${took.length} requests, p50 ${took[took.length >> 1]?.toFixed(1)} ms (quiet ${before[before.length >> 1]?.toFixed(1)}), p99 ${p99.toFixed(1)} ms, worst ${worst.toFixed(0)} ms, ${[...neighbour.acknowledged.values()].reduce((n, m) => n + m.size, 0)} points acknowledged`);
    console.log(`slowest: ${slowest.join('; ')}`);
    console.log(`memory: peak ${peak.toFixed(0)} MB of ${budgetMb.toFixed(0)} MB of budgets`);
    for (const b of bad) console.log(`FAILED: ${b}`);
    fs.rmSync(folder, { recursive: true, force: true });
    group.remove();
    console.log(bad.length ? `greedy: ${bad.length} failed` : 'greedy: ok');
    process.exit(bad.length ? 1 : 0);
}

process.on('uncaughtException', (e) => { if (!/ECONN|EPIPE|EADDR/.test(e.message)) { console.error(e); process.exit(1); } });
if (process.argv[2] === '--greedy') await greedy(Number(process.argv[3]), process.argv[4], Number(process.argv[5]));
else await main(process.argv[2], Number(process.argv[3] ?? 30), Number(process.argv[4] ?? 2048));

// costs.mjs HALITE [HOSTS [SECONDS [PART...]]]: what a pool costs beside a folder, as ratios of one run.
//
// HOSTS agents with ten series each send a point each ten seconds.  Needs the programs of
// bench/ in HALITE's build (make bench/generate bench/load).  The folder lies
// in memory, as the cluster does; figures of time are of this machine at this moment.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Ceph } from './ceph.mjs';
import { Fleet, Ledger, Probes, T0, clusterOf, execute, fail, finish, halite, median, seconds, sleep, until } from './rig.mjs';

const hosts = Number(process.argv[3] ?? 400), span = Number(process.argv[4] ?? 3600), parts = process.argv.slice(5);
const bench = (name) => path.join(path.dirname(halite), 'bench', name);
const root = fs.mkdtempSync(path.join(fs.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir(), 'halite-costs-'));
const slow = fs.mkdtempSync(path.join(os.tmpdir(), 'halite-costs-'));
process.on('exit', () => { for (const d of [root, slow]) fs.rmSync(d, { recursive: true, force: true }); });
const ceph = await Ceph.start();
const LEASE = ['halite.cluster.lease_ms=5000'];
const metric = 'cpu.usage_user', tell = (what, ...figures) => console.log(`${what}: ${figures.join('; ')}`);
const ratio = (a, b) => `${(a / b).toFixed(2)} x`, us = (s, points) => `${(1e6 * s / points).toFixed(3)} us`;

const points = hosts * 10 * span / 10;

// Daemons whose cost is told by the kernel when they end.
class Measured {
    constructor(place, words = []) {
        const pool = place.startsWith('rados:');
        this.fleet = new Fleet([...words, ...pool ? LEASE : []], { place });
        this.fleet.words = this.fleet.words.filter((w, i, all) => all.findLastIndex((x) => x.split('=')[0] === w.split('=')[0]) === i);
        this.pool = pool;
    }
    async start(n = 1) {
        for (let i = 0; i < n; i++) await this.fleet.add();
        if (this.pool) await this.fleet.ready();
        return this;
    }
    get one() { return this.fleet.daemons[0]; }
    get cpu() { return this.fleet.daemons.reduce((s, d) => s + d.cpu, 0); }
    // CPU seconds up to the end of each, all flushed: asked as late as can be.
    async stop() {
        let cpu = 0;
        for (const d of [...this.fleet.daemons]) {
            let last = d.cpu;
            const look = setInterval(() => { try { last = d.cpu; } catch { /* it has ended */ } }, 5);
            const how = await d.end('SIGTERM');
            clearInterval(look);
            if (how !== 0) await fail(`${d.name}: SIGTERM ended with ${how}`);
            cpu += last;
            this.fleet.drop(d);
        }
        return cpu;
    }
}
let stores = 0;
const folder = (where = root) => path.join(where, `store${++stores}`), place = () => `rados:tsdb/costs${++stores}?conf=${ceph.conf}`;
async function send(d, part = 0, parts = 1) {
    const from = performance.now();
    const made = `'${bench('generate')}' --hosts ${hosts} --metrics 10 --start ${T0} --end ${T0 + span} --step 10 --seed 1 --format telnet --part ${part} --parts ${parts}`;
    const { stdout } = await execute('sh', ['-c', `${made} | '${bench('load')}' ${d.port} telnet -`], { maxBuffer: 1 << 26 });
    if (JSON.parse(stdout).rejected > 0) await fail(`points were rejected: ${stdout}`);
    return performance.now() - from;
}
// What the OSDs need for themselves: CPU seconds a second.
const resting = ceph.cpu;
await sleep(5000);
const rest = (ceph.cpu - resting) / 5;
// CPU of a store that is started, loaded and stopped, without that of one that is not loaded;
// and that of the OSDs, without what they need for themselves.
async function load(at, n = 1) {
    const idle = await (await new Measured(at()).start(n)).stop();
    const where = at(), m = await new Measured(where).start(n), before = ceph.cpu, from = performance.now(), rss = m.one.rss;
    const took = await send(m.one), full = m.one.rss;
    const cpu = await m.stop() - idle;
    return { where, cpu, took, rss, full, osd: ceph.cpu - before - rest * (performance.now() - from) / 1000 };
}
async function count(d, i) {
    const a = await d.ask('POST', '/api/query', { start: T0 - 1 - i, end: T0 + span + i, queries: [{ metric, aggregator: 'sum', downsample: '0all-count' }] }, 300000);
    if (a.status !== 200) await fail(`a scan: ${a.status} ${a.text.slice(0, 300)}`);
    const [g] = JSON.parse(a.text), n = Object.values(g?.dps ?? {})[0];
    if (n !== points / 10) await fail(`a scan counted ${n} of ${points / 10} points`);
}
async function scan(where) {
    const m = await new Measured(where).start(), times = [], cpu = m.cpu;
    for (let i = 0; i < 7; i++) {
        const from = performance.now();
        await count(m.one, i);
        times.push(performance.now() - from);
    }
    const used = m.cpu - cpu;
    await m.stop();
    return { first: times[0], next: median(times.slice(1)), cpu: used };
}
async function singles(m) {
    const times = [];
    for (let i = 0; i < 300; i++) {
        const from = performance.now(), a = await m.one.ask('POST', '/api/put', { metric: 'single', timestamp: T0 + i, value: i, tags: { a: 'b' } });
        if (a.status !== 204) await fail(`a put: ${a.status} ${a.text}`);
        if (i >= 20) times.push(performance.now() - from);
    }
    return median(times);
}
const costs = {
    async points() {
        const local = await load(folder), pool = await load(place), two = await load(place, 2);
        this.stores = { local, pool };
        tell(`${points} points of ${hosts * 10} series by telnet, CPU a point settled`, `folder ${us(local.cpu, points)}`, `pool ${us(pool.cpu, points)}, ${ratio(pool.cpu, local.cpu)}`, `OSDs ${us(pool.osd, points)}`);
        tell('half of them forwarded', `both daemons ${us(two.cpu, points)}`, `so a forwarded point costs ${ratio(2 * two.cpu - pool.cpu, pool.cpu)} a local one`);
        tell('time', `folder ${seconds(local.took)}`, `pool ${seconds(pool.took)}`, `two daemons ${seconds(two.took)}`);
        const mb = (b) => `${(b / 1048576).toFixed(0)} MB`;
        tell('memory idle, loaded', `folder ${mb(local.rss)}, ${mb(local.full)}`, `pool ${mb(pool.rss)}, ${mb(pool.full)}`, `more by ${mb(pool.rss - local.rss)}, ${mb(pool.full - local.full)}`);
    },
    async scans() {
        const stores = this.stores ?? { local: await load(folder), pool: await load(place) };
        const local = await scan(stores.local.where), pool = await scan(stores.pool.where);
        tell(`scan of the ${hosts} flushed rows of a metric`, `first: folder ${local.first.toFixed(1)} ms, pool ${pool.first.toFixed(1)} ms, rate ${ratio(local.first, pool.first)}`, `next: ${local.next.toFixed(1)}, ${pool.next.toFixed(1)} ms, rate ${ratio(local.next, pool.next)}`, `CPU of all ${ratio(pool.cpu, local.cpu)}`);
    },
    // Each daemon gets its share of the points, most of them of series that others own; and
    // daemons that are started anew are asked for all of a metric, once to know its names.
    async daemons() {
        for (const n of [1, 2, 4]) {
            const idle = await (await new Measured(place()).start(n)).stop(), where = place(), rows = 5 * hosts * n;
            let m = await new Measured(where).start(n), osd = ceph.cpu, from = performance.now();
            await Promise.all(m.fleet.daemons.map((d, i) => send(d, i, n)));
            const all = await m.stop() - idle, osds = ceph.cpu - osd - rest * (performance.now() - from) / 1000;
            m = await new Measured(where).start(n);
            await Promise.all(m.fleet.daemons.map((d) => count(d, 0)));
            const cpu = m.cpu;
            osd = ceph.cpu, from = performance.now();
            for (let i = 1; i <= 5; i++) await Promise.all(m.fleet.daemons.map((d) => count(d, i)));
            const read = m.cpu - cpu, osds_read = ceph.cpu - osd - rest * (performance.now() - from) / 1000;
            await m.stop();
            tell(`${n} daemons`, `${us(all, points)} of CPU a point, OSDs ${us(osds, points)}`, `a flushed row that is read ${us(read, rows)}, OSDs ${us(osds_read, rows)}`);
        }
    },
    async acks() {
        const p50 = [];
        for (const m of [new Measured(folder(slow), ['halite.sync=always']), new Measured(place())]) {
            await m.start();
            p50.push(await singles(m));
            await m.stop();
        }
        tell('one put at a time, p50', `folder, sync=always ${p50[0].toFixed(2)} ms`, `pool ${p50[1].toFixed(2)} ms, ${ratio(p50[1], p50[0])}`);
    },
    async names() {
        const m = await new Measured(place()).start();
        const put = async (list) => {
            const a = await m.one.ask('POST', '/api/put', list.map((host) => ({ metric: 'names', timestamp: T0, value: 1, tags: { host } })), 120000);
            if (a.status !== 204) await fail(`new names: ${a.status} ${a.text.slice(0, 300)}`);
        };
        await put(['first']);
        let from = performance.now();
        for (let i = 0; i < 200; i++) await put([`one${i}`]);
        const one = (performance.now() - from) / 200;
        from = performance.now();
        await put(Array.from({ length: 10000 }, (_, i) => `many${i}`));
        const many = (performance.now() - from) / 10000;
        tell('new names', `one at a time ${(1000 / one).toFixed(0)} a second`, `10,000 in a body ${(1000 / many).toFixed(0)} a second, ${ratio(one, many)}`);
        await m.stop();
    },
    async takeover() {
        const m = await new Measured(place(), ['halite.store.head_bytes=1G']).start(2), [dead, heir] = m.fleet.daemons;
        await send(dead);
        const view = await clusterOf(heir), probes = new Probes(m.fleet, new Ledger(), 32);
        probes.start();
        await until('a put of each series', () => new Set(probes.done.map((d) => d.i)).size === probes.n);
        m.fleet.drop(dead);
        const from = performance.now();
        dead.end('SIGKILL');
        await until('an acknowledgement of each series', () => probes.first(from).size === probes.n, 120000);
        const first = [...probes.first(from).values()].filter((ms) => ms > 1000);
        tell(`kill -9 with ${points} points open in two daemons, lease 5 s`, `first acknowledgements of ${first.length} series: earliest ${seconds(Math.min(...first))}, median ${seconds(median(first))}, last ${seconds(Math.max(...first))}`, `WAL of the dead one ${(view.members.find((x) => x.name === view.self ? false : true)?.walBytes / 1e6).toFixed(1)} MB`);
        await probes.stop();
        await m.stop();
    },
};
for (const [name, f] of Object.entries(costs)) if (parts.length === 0 || parts.includes(name)) await f.call(costs);
await finish();

// nemesis.mjs HALITE SECONDS: all that can happen to daemons and their cluster, at random.
//
// On a cluster of its own: daemons are killed, stopped and woken, told to end, put on the
// blocklist; their clocks jump; OSDs are killed, stopped, two at once; monitors are
// killed.  After each, once all is well again, what was acknowledged is compared.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fakeClock } from '../faketime.mjs';
import { Ceph } from './ceph.mjs';
import { Fleet, HEADS, Ledger, Load, Probes, clusterOf, compare, fail, finish, lease, pick, random, seconds, seed, sleep, until } from './rig.mjs';

const end = Date.now() + 1000 * Number(process.argv[3] ?? 60);
console.log(`seed ${seed} (HALITE_SEED=${seed} repeats the choices)`);
const ceph = await Ceph.start();
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'halite-clock-')), clock = path.join(folder, 'time');
process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true }));
const setClock = (s) => fs.writeFileSync(clock, `${s < 0 ? '' : '+'}${s}\n`);
setClock(0);
const faketime = fakeClock(clock), env = faketime ?? {};

let surprises = 0, quiet = false;
const fleet = new Fleet(['halite.store.head_bytes=4M', 'halite.store.journal_segment_bytes=256K'],
    { env, place: `rados:tsdb/nemesis?conf=${ceph.conf}`, surprise: lost, heads: HEADS });
const ledger = new Ledger(), load = new Load(fleet, ledger), probes = new Probes(fleet, ledger);

// What systemd does: a daemon that ended is started again until it comes up, which it does
// not while its cluster does not answer.
async function another(d) {
    for (fleet.drop(d); !quiet; await sleep(500)) {
        const n = await fleet.add(0, true);
        if (n.process) return;
        fleet.drop(n);
    }
}
async function lost(d) {
    if (d.port === 0) return; // 'another' goes on
    surprises++;
    if (d.how !== 75) await fail(`${d.name} ended by itself with ${d.how}`);
    await another(d);
}
const events = {
    async kill() { const d = pick(fleet.live); await d.end('SIGKILL'); await another(d); },
    async 'two killed'() { for (const d of fleet.live.slice(0, 2)) { d.end('SIGKILL'); await another(d); } },
    async stop() {
        const d = pick(fleet.live);
        d.pause();
        await sleep(lease * (1.5 + random(3)));
        d.asked = true;
        d.wake();
        const how = await Promise.race([d.ended, sleep(60000)]);
        if (how !== 75) await fail(`${d.name} woke up after its lease: ${how}`);
        await another(d);
    },
    async 'short stop'() { const d = pick(fleet.live); d.pause(); await sleep(lease / 3); d.stopped = false; d.wake(); },
    async term() {
        const d = pick(fleet.live), how = await Promise.race([d.end('SIGTERM'), sleep(60000)]);
        if (how !== 0 && how !== 75) await fail(`${d.name}: SIGTERM ended with ${how}`);
        await another(d);
    },
    async 'OSD killed'() { const i = random(3); await ceph.killOsd(i); await sleep(3000 + random(5000)); await ceph.revive(i); },
    async 'OSD stopped'() { const i = random(3); await ceph.pauseOsd(i); await sleep(2000 + random(8000)); await ceph.wakeOsd(i); },
    async 'two OSDs killed'() { await ceph.killOsd(0); await ceph.killOsd(1); await sleep(2000 + random(6000)); await ceph.revive(0); await ceph.revive(1); },
    async 'mon killed'() { const i = random(3); ceph.killMon(i); await sleep(1000 + random(3000)); if (random(2)) await events.kill(); await ceph.revive(i); },
    async 'OSD and daemon killed'() { const i = random(3); await ceph.killOsd(i); await events.kill(); await ceph.revive(i); },
    async blocklist() {
        const d = pick(fleet.live), address = /lease: member \w+, at (\S+)/.exec(d.log)?.[1];
        if (!address) await fail(`${d.name} does not tell its address in the cluster`);
        d.asked = true;
        await ceph.ceph('osd', 'blocklist', 'add', address, '600');
        const how = await Promise.race([d.ended, sleep(30000)]);
        if (how !== 75) await fail(`${d.name} is on the blocklist: ${how}`);
        await another(d);
    },
    async clock() { if (faketime) setClock(pick([0, 3600, -3600, 86400, -86400 * 30, 30, -30])); await sleep(1000); },
};
const counts = {}, slowest = {};
await fleet.start(3);
while (Date.now() < end) {
    const name = pick(Object.keys(events)), from = performance.now();
    load.start();
    probes.start();
    await sleep(500);
    await events[name]();
    await fleet.ready(120000);
    const well = performance.now();
    await until('an acknowledgement of each series', () => probes.first(well).size === probes.n, 120000);
    slowest[name] = Math.max(slowest[name] ?? 0, probes.longest(from));
    probes.done = [];
    await probes.stop();
    await load.stop();
    await compare(ledger, [pick(fleet.live)], name);
    counts[name] = (counts[name] ?? 0) + 1;
    console.log(`${name}: longest put ${seconds(slowest[name])}; ${ledger.acknowledged} points acknowledged, ${surprises} daemons ended by themselves`);
}
await compare(ledger, fleet.live, 'at the end');
console.log(Object.entries(counts).map(([k, n]) => `${k} ${n} (longest put ${seconds(slowest[k])})`).join(', '));
console.log(`${ledger.acknowledged} points acknowledged, ${ledger.keys.size} keys compared, 0 lost; ${load.unknown} batches of unknown outcome, ${ledger.late} keys with a late one; ${surprises} daemons ended by themselves`);
quiet = true;
await finish();

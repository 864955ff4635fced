// faults.mjs HALITE [full|size|eight|rights...]: clusters that cannot do what daemons need.
//
//   full    no room: puts are answered 503 at once, reads and leases go on; then it goes on
//   size    fewer replicas than its least number: nothing is acknowledged; then it goes on
//   eight   on disks, under load: nodes, OSDs, the leading monitor killed, an OSD that hangs, no
//           room, all at once and all twice; puts go on, each acknowledged point is there
//   rights  a user who may not use the blocklist: the daemon does not start, and says why
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { Ceph } from './ceph.mjs';
import { Fleet, HEADS, Ledger, Load, Probes, clusterOf, compare, fail, finish, halite, lease, look, random, seconds, seed, sleep, until } from './rig.mjs';

const only = process.argv.slice(3);
console.log(`seed ${seed} (HALITE_SEED=${seed} repeats the choices)`);
const surprise = (d) => fail(`${d.name} ended by itself with ${d.how}`);
const words = ['halite.store.head_bytes=4M'];

async function loaded(ceph, ns, n = 2) {
    const fleet = new Fleet(words, { place: `rados:tsdb/${ns}?conf=${ceph.conf}`, surprise, heads: HEADS });
    const ledger = new Ledger(), load = new Load(fleet, ledger), probes = new Probes(fleet, ledger);
    await fleet.start(n);
    load.start();
    probes.start();
    await until('writing', () => load.batches > 50);
    return { fleet, ledger, load, probes };
}
// As systemd: a lease ends where nothing is written, and another daemon is started.
function restart(fleet, told = () => {}) {
    fleet.surprise = async (d) => {
        fleet.drop(d);
        if (d.how !== 75 && d.port !== 0) await fail(`${d.name} ended with ${d.how}`);
        told(d);
        for (;; await sleep(500)) { const n = await fleet.add(0, true); if (n.process) return; fleet.drop(n); }
    };
}
async function well({ fleet, ledger, load, probes }) {
    const from = performance.now();
    await until('acknowledgements again', () => probes.first(from).size === probes.n);
    const took = performance.now() - from;
    await probes.stop();
    await load.stop();
    await compare(ledger, fleet.live, 'after it');
    return `${seconds(took)} until all is acknowledged again, ${ledger.acknowledged} points acknowledged, 0 lost`;
}

const cases = {
    async full(ceph) {
        const all = await loaded(ceph, 'full'), { fleet, load } = all;
        const names = () => clusterOf(fleet.live[0]).then((v) => v.members.map((m) => m.name).sort().join());
        const members = await names();
        const ratios = (near, back, full) => Promise.all([['nearfull', near], ['backfillfull', back], ['full', full]].map(([k, v]) => ceph.ceph('osd', `set-${k}-ratio`, String(v))));
        await ratios(0.00001, 0.00002, 0.00003);
        let told;
        await until('a refusal', async () => {
            told = await fleet.live[0].ask('POST', '/api/put', Array.from({ length: 200 }, (_, i) => ({ metric: 'pool.full', timestamp: 1735689600, value: 1, tags: { id: `x${i}` } })), 8000);
            return told.status === 503 || told.status === 500;
        });
        // What is stored is read, and no lease is lost, for as long as this takes.
        for (const end = Date.now() + 4 * lease; Date.now() < end; await sleep(200)) await look(fleet.live[1]);
        const before = load.batches;
        await sleep(1000);
        if (load.batches !== before) await fail('puts are acknowledged though there is no room');
        if (await names() !== members) await fail('leases were lost while there was no room');
        await ratios(0.85, 0.9, 0.95);
        return `refused with ${told.status} ${told.text.slice(0, 120)}; ${await well(all)}`;
    },

    async size(ceph) {
        const all = await loaded(ceph, 'size'), { load } = all;
        restart(all.fleet);
        await ceph.killOsd(0);
        await ceph.killOsd(1);
        await sleep(6000); // until that is known
        const before = load.batches;
        await sleep(5000);
        if (load.batches !== before) await fail('puts are acknowledged on one replica');
        await ceph.revive(0);
        await ceph.revive(1);
        await all.fleet.ready(120000);
        return await well(all);
    },

    async eight() {
        const ceph = await Ceph.start({ CLUSTER_STORE: 'bluestore' }), all = await loaded(ceph, 'eight', 3);
        const { fleet, probes } = all, nodes = [0, 1, 2], told = [];
        let ended = 0;
        restart(fleet, () => ended++);
        const ratios = (near, back, full) => Promise.all([['nearfull', near], ['backfillfull', back], ['full', full]].map(([k, v]) => ceph.ceph('osd', `set-${k}-ratio`, String(v))));
        const leader = async () => Number(JSON.parse((await ceph.ceph('quorum_status')).stdout).quorum_leader_name);
        const killed = async (list, ms) => {
            for (const i of list) await ceph.killOsd(i);
            await sleep(ms);
            for (const i of list) await ceph.revive(i);
        };
        const node = async (i, ms) => { await ceph.killNode(i); await sleep(ms); await ceph.revive(i); };
        const faults = {
            'a node killed': () => node(random(3), 10000),
            'an OSD killed': () => killed([random(3)], 5000),
            'the node of the leading monitor killed': async () => node(await leader(), 10000),
            'an OSD hangs': async () => { const i = random(3); await ceph.pauseOsd(i); await sleep(12000); await ceph.wakeOsd(i); },
            'two OSDs killed': () => killed([0, 1], 8000),
            'all OSDs killed': () => killed(nodes, 2000),
            'no room': async () => { await ratios(0.00001, 0.00002, 0.00003); await sleep(14000); await ratios(0.85, 0.9, 0.95); },
            'an owner and an OSD killed': async () => {
                const d = fleet.live[random(fleet.live.length)];
                fleet.drop(d);
                d.end('SIGKILL');
                await killed([random(3)], 5000);
                await fleet.add();
            },
        };
        for (const [name, fault] of Object.entries(faults)) {
            probes.done = [];
            await fault();
            await fleet.ready(120000);
            const from = performance.now();
            await until('an acknowledgement of each series', () => probes.first(from).size === probes.n, 120000);
            told.push(`${name} ${seconds(probes.longest(0))}`);
        }
        return `longest put: ${told.join(', ')}; ${ended} daemons ended by themselves; ${await well(all)}`;
    },

    async rights() {
        const ceph = await Ceph.start({ CLUSTER_AUTH: 'cephx' });
        const keyring = path.join(ceph.dir, 'users'), told = [];
        for (const [name, mon] of [['all', 'profile rbd'], ['less', 'allow r'], ['least', 'allow r, allow command "osd blocklist" with blocklistop=add']])
            fs.appendFileSync(keyring, (await ceph.ceph('auth', 'get-or-create', `client.${name}`, 'mon', mon, 'osd', 'allow rwx pool=tsdb namespace=n')).stdout);
        const conf = path.join(ceph.dir, 'users.conf');
        fs.writeFileSync(conf, fs.readFileSync(ceph.conf, 'utf8').replaceAll(/keyring = .*/g, `keyring = ${keyring}`));
        const place = (id, ns = 'n') => `rados:tsdb/${ns}?conf=${conf}&id=${id}`;
        for (const id of ['all', 'least']) {
            const fleet = new Fleet(words, { place: place(id), surprise });
            await fleet.start(2);
            const a = await fleet.live[0].ask('POST', '/api/put', { metric: 'm', timestamp: 1735689600, value: 1, tags: { id } });
            if (a.status !== 204) await fail(`user ${id}: ${a.status} ${a.text}`);
            for (const d of fleet.daemons) if (await d.end('SIGTERM') !== 0) await fail(`user ${id}: SIGTERM ended with ${d.how}`);
            fleet.daemons = [];
        }
        for (const [at, want] of [[place('less'), /blocklist/], [place('all', 'other'), /no right/], [place('unknown'), /./]]) {
            const r = spawnSync(halite, ['tsd', '--store', at, '--bind', '127.0.0.1', '--port', '0'], { encoding: 'utf8', timeout: 60000 });
            const last = r.stderr.trim().split('\n').pop();
            if (r.status === 0 || r.status === null || !want.test(last)) await fail(`${at}: ${r.status ?? r.signal}, ${r.stderr}`);
            told.push(last);
        }
        return `refused: ${told.join(' / ')}`;
    },
};
const own = ['eight', 'rights']; // each has a cluster of its own
const ceph = only.length > 0 && only.every((name) => own.includes(name)) ? null : await Ceph.start();
for (const [name, test] of Object.entries(cases)) {
    if (only.length > 0 && !only.includes(name)) continue;
    console.log(`${name}: ok; ${await test(ceph)}`);
}
await finish();

// faults.mjs HALITE [full|size|rights...]: clusters that cannot do what daemons need.
//
//   full    no room: puts are answered 503 at once, reads and leases go on; then it goes on
//   size    fewer replicas than its least number: nothing is acknowledged; then it goes on
//   rights  a user who may not use the blocklist: the daemon does not start, and says why
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { Ceph } from './ceph.mjs';
import { Fleet, Ledger, Load, Probes, clusterOf, compare, fail, finish, halite, lease, look, seconds, seed, sleep, until } from './rig.mjs';

const only = process.argv.slice(3);
console.log(`seed ${seed} (HALITE_SEED=${seed} repeats the choices)`);
const surprise = (d) => fail(`${d.name} ended by itself with ${d.how}`);
const words = ['halite.store.seal_delay_ms=1', 'halite.store.head_bytes=4M'];

async function loaded(ceph, ns) {
    const fleet = new Fleet(words, { place: `rados:tsdb/${ns}?conf=${ceph.conf}`, surprise });
    const ledger = new Ledger(), load = new Load(fleet, ledger), probes = new Probes(fleet, ledger);
    await fleet.start(2);
    load.start();
    probes.start();
    await until('writing', () => load.batches > 50);
    return { fleet, ledger, load, probes };
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
        all.fleet.surprise = async (d) => { // a lease ends where nothing is written; systemd starts another
            all.fleet.drop(d);
            if (d.how !== 75 && d.port !== 0) await fail(`${d.name} ended with ${d.how}`);
            for (;; await sleep(500)) { const n = await all.fleet.add(0, true); if (n.process) return; all.fleet.drop(n); }
        };
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
const ceph = only.length === 1 && only[0] === 'rights' ? null : await Ceph.start();
for (const [name, test] of Object.entries(cases)) {
    if (only.length > 0 && !only.includes(name)) continue;
    console.log(`${name}: ok; ${await test(ceph)}`);
}
await finish();

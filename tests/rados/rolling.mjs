// rolling.mjs HALITE [TURNS]: three daemons are restarted one by one, on their ports, under
// load.  Clients try again what was answered with 503 or by a closed connection; nothing
// else may go wrong, and all that was acknowledged is there in the end.
import { Fleet, HEADS, Ledger, Load, Probes, compare, fail, finish, seconds, seed, sleep } from './rig.mjs';

const turns = Number(process.argv[3] ?? 1);
console.log(`seed ${seed} (HALITE_SEED=${seed} repeats the choices)`);
const fleet = new Fleet(['halite.store.head_bytes=4M'],
    { surprise: (d) => fail(`${d.name} ended by itself with ${d.how}`), heads: HEADS });
const ledger = new Ledger(), load = new Load(fleet, ledger, { retry: true }), probes = new Probes(fleet, ledger);
await fleet.start(3);
load.start();
probes.start();
await sleep(1000);
const began = performance.now();
let ended = 0;
for (let turn = 0; turn < turns; turn++) {
    for (const d of [...fleet.daemons]) {
        const from = performance.now();
        const how = await d.end('SIGTERM');
        if (how !== 0) await fail(`${d.name}: SIGTERM ended with ${how}`);
        ended = Math.max(ended, performance.now() - from);
        fleet.drop(d);
        await fleet.add(d.port);
        await fleet.ready();
        await sleep(500);
    }
}
await probes.stop();
await load.stop();
await compare(ledger, fleet.daemons, 'after the restarts');
const retried = load.writers.reduce((n, w) => n + w.retried, 0);
console.log(`${3 * turns} restarts: ${ledger.acknowledged} points acknowledged, 0 lost; ${retried} batches tried again; longest put, retries included, ${seconds(probes.longest(began))}; slowest end ${seconds(ended)}`);
await finish();

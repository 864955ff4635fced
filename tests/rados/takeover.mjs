// takeover.mjs HALITE ROUNDS [kill|stop|term|any]: daemons of one pool come and go.
//
// Three daemons take puts over HTTP and telnet, and this process keeps a ledger of what
// was acknowledged.  Each round one of them is killed, or stopped for longer than its
// lease and woken up, or told to end; the others go on with its buckets, and a new one
// comes.  Then all that was acknowledged is compared, key by key, with what a daemon
// answers; at the end, with what each of them answers.
import { Fleet, HEADS, Ledger, Load, Probes, T0, compare, fail, finish, lease, median, pick, random, seconds, seed, sleep, until } from './rig.mjs';

const rounds = Number(process.argv[3] ?? 5), kind = process.argv[4] ?? 'any';
console.log(`seed ${seed} (HALITE_SEED=${seed} repeats the choices)`);

const surprises = [];
const fleet = new Fleet(['halite.store.head_bytes=4M', 'halite.store.journal_segment_bytes=256K'], { surprise: lost, heads: HEADS });
const ledger = new Ledger();
const load = new Load(fleet, ledger), probes = new Probes(fleet, ledger);

// A daemon that ends by itself: its lease was lost on a busy machine.  As systemd would,
// this starts another one.
async function lost(d) {
    surprises.push(d);
    fleet.drop(d);
    if (d.how !== 75) await fail(`${d.name} ended by itself with ${d.how}`);
    await fleet.add();
}

// What a woken daemon answers must not be older than what was acknowledged elsewhere.
async function wake(d, known) {
    const queries = known.map(({ i, t }) => d.ask('POST', '/api/query', { start: t, end: t + 1, queries: [{ metric: 'pool.test', aggregator: 'none', tags: { writer: 'probe', series: `p${i}` } }] }, 20000));
    await sleep(50); // until they wait in its sockets
    d.wake();
    let answered = 0;
    for (const [k, q] of queries.entries()) {
        const a = await q;
        if (a.status !== 200) continue;
        answered++;
        const v = JSON.parse(a.text)[0]?.dps[known[k].t];
        if (!(v >= known[k].v)) await fail(`${d.name} woke up and answered ${v}, acknowledged was ${known[k].v}`);
    }
    return answered;
}

const taken = [], pauses = [], slow = [];
let woken = 0, lastEnd = 0;
await fleet.start(3);
for (let round = 1; round <= rounds; round++) {
    load.start();
    probes.start();
    await sleep(300 + random(700));
    const d = pick(fleet.live), how = kind === 'any' ? pick(['kill', 'stop', 'term']) : kind;
    const from = performance.now(), at = new Date().toISOString().slice(14, 23), before = surprises.length;
    fleet.drop(d);
    if (how === 'kill') d.end('SIGKILL');
    else if (how === 'stop') d.pause();
    else {
        const code = await d.end('SIGTERM');
        if (code !== 0) await fail(`${d.name}: SIGTERM ended with ${code}`);
        lastEnd = Math.max(lastEnd, performance.now() - from);
    }
    await until('an acknowledgement of each series', () => probes.first(from).size === probes.n);
    if (how === 'stop') await until('its lease to end', () => performance.now() - from > 1.5 * lease);
    const first = [...probes.first(from).values()];
    if (how === 'term') pauses.push(probes.longest(from));
    else taken.push(...first.filter((ms) => ms > lease / 2));
    if (how === 'stop') {
        d.asked = true;
        woken += await wake(d, probes.last.map((p, i) => ({ i, ...p })));
        const code = await Promise.race([d.ended, sleep(30000)]);
        if (code !== 75) await fail(`${d.name} woke up after its lease and ${code === undefined ? 'goes on' : `ended with ${code}`}`);
        if (!/lease|fenced|blocklist/i.test(d.log.slice(-2000))) await fail(`${d.name} does not say why it ended:\n${d.log.slice(-2000)}`);
    }
    const joined = performance.now();
    await fleet.add();
    await fleet.ready();
    await sleep(200);
    if (surprises.length === before) slow.push(probes.longest(joined));
    await probes.stop();
    await load.stop();
    await compare(ledger, [pick(fleet.live)], `round ${round}, ${how} of ${d.name} at ${at}`);
    if (round % 10 === 0 || rounds < 10) console.log(`round ${round}, ${how}: ${ledger.acknowledged} points acknowledged, ${load.unknown} batches of unknown outcome`);
}
await compare(ledger, fleet.live, 'at the end');
const worst = (list) => `${list.length} of them, median ${seconds(median(list))}, longest ${seconds(Math.max(...list))}`;
if (taken.length > 0) console.log(`kill or stop to the first acknowledgement of a series that it had (lease ${seconds(lease)}): ${worst(taken)}`);
if (pauses.length > 0) console.log(`longest put while a daemon gives its buckets away and ends: ${worst(pauses)}; slowest end ${seconds(lastEnd)}`);
if (slow.length > 0) console.log(`longest put while a new daemon is given buckets: ${worst(slow)}`);
if (woken > 0) console.log(`${woken} queries answered by daemons that woke up, none old`);
if (surprises.length > 0) console.log(`${surprises.length} leases lost by themselves`);
console.log(`${rounds} rounds of ${kind}: ${ledger.acknowledged} points acknowledged, ${ledger.keys.size} keys compared, 0 lost; ${load.unknown} batches of unknown outcome, ${ledger.late} keys with a late one`);
await finish();

// points.mjs HALITE [NAME...]: kill -9 at each place that base/process/crash.h names.
//
// One folder and one ledger from the first place to the last.  A server is told where to
// end, and written to until it is there; a place that is passed when it stops, or starts,
// is reached so.  The next server must open the folder and hold all that was acknowledged.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Ledger } from '../power/ledger.mjs';
import { Load, Server, look, random, seed, settings } from '../power/load.mjs';

const [halite, ...only] = process.argv.slice(2);
// Under way, at the stop, or at the start behind a torn end of the files.
const places = [
    'uid-chosen', 'uid-assigned:20', 'batch-logged:30', 'batch-written:40', 'record-written:3',
    'delete-logged:3', 'delete-written', 'rotate-synced', 'rotate-headed:2', 'rotate-made',
    'hours-encoded:3', 'flush-encoded:2', 'flush-written:3', 'merge:20', 'trim-synced', 'trim-deleted',
    'close-begun', 'close-flushed', 'open-journal-cut', 'open-engine-cut',
];
const base = fs.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir();
const dir = fs.mkdtempSync(path.join(process.env.TMPDIR ?? base, 'halite-points-'));
process.on('exit', () => fs.rmSync(dir, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));
const server = new Server(halite, settings);
console.log(`seed ${seed} (HALITE_SEED=${seed} repeats the choices)`);
function fail(why) { console.error(`FAILED: ${why}\n${server.log}`); process.exit(1); }

// Half a record at the end of the newest file of its kind, as torn by a crash.
function tear(folder, kind) {
    const names = fs.readdirSync(path.join(dir, folder)).filter((n) => kind.test(n)).sort();
    fs.appendFileSync(path.join(dir, folder, names.at(-1)), Buffer.alloc(100 + random(100), 0x55));
}

async function start(place) {
    return server.start(dir, [], place === undefined ? {} : { HALITE_CRASH_AT: place });
}

let ledger = new Ledger(), answers = 0;
async function compare(where) {
    if (!await start()) fail(`${where}: the server does not start`);
    const seen = await look(server, fail), { wrong } = ledger.compare(seen, 0, 0);
    if (wrong.length > 0) fail(`${where}: ${wrong.length} keys are wrong, such as\n${wrong.slice(0, 5).join('\n')}`);
    // What was under way was taken or not: from here on it is what it is.
    ledger = Ledger.after(seen);
    return seen.size;
}

async function reach(place) {
    const early = /^open/.test(place);
    if (early) {
        if (!await start()) fail(`${place}: the server does not start`);
        const load = new Load(server, ledger, fail), done = load.run();
        while (load.batches < 20) await new Promise((r) => setTimeout(r, 20));
        await server.stop('SIGKILL');
        await done;
        tear('journal', /\.wal$/);
        tear('engine', /^MANIFEST/);
    }
    if (!await start(place)) return await server.gone;
    if (early) fail(`${place} was not reached`);
    const load = new Load(server, ledger, fail), done = load.run();
    const late = /^(flush|merge|trim|close|replace)/.test(place);
    load.mayRefuse = late; // when it stops
    const until = Date.now() + (late ? 300 : 20000);
    while (server.process !== null && Date.now() < until) await new Promise((r) => setTimeout(r, 10));
    if (server.process !== null && !late) fail(`${place} was not reached in 20 s`);
    const how = await server.stop('SIGTERM');
    load.on = false;
    await done;
    answers += load.batches;
    return how;
}

let tried = 0;
for (const place of places) {
    if (only.length > 0 && !only.includes(place.replace(/:.*/, ''))) continue;
    const how = await reach(place);
    if (how !== 'SIGKILL') fail(`${place} was not reached: the server ended with ${how}`);
    const keys = await compare(place);
    await server.stop(random(2) === 0 ? 'SIGTERM' : 'SIGKILL');
    tried++;
    console.log(`${place}: ok, ${keys} keys`);
}
console.log(`${tried} places, ${answers} answers, nothing lost`);
process.exit(0);

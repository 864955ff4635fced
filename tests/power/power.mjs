// power.mjs HALITE DIR [CUTS] [MODE]: the power is cut, and what was acknowledged is there.
//
// For each sync mode a server is recorded by shim.c while five writers put points over
// HTTP and telnet, in and out of order, into series old and new, delete some, and write
// annotations and rollups; it is stopped and started in between.  Then, at CUTS places of
// the record and by each model of disk.mjs, a server is started on what the disk may hold:
// it must open, and hold what the mode promises.  On one that lost pages another recording
// is made, and cut again: power fails while the damage of the last time is being repaired.
import fs from 'node:fs';
import path from 'node:path';
import { Disk, models, readRecord } from './disk.mjs';
import { Ledger } from './ledger.mjs';
import { BATCH, Load, Server, look, random, seed, settings } from './load.mjs';

const [halite, root, cutsArg, onlyMode] = process.argv.slice(2);
const cuts = Number(cutsArg ?? 300);
const long = cuts >= 50;
const server = new Server(halite, settings);
console.log(`seed ${seed} (HALITE_SEED=${seed} repeats the choices, though not the timestamps)`);

let kept = null;
function fail(why) {
    console.error(`FAILED: ${why}`);
    if (kept !== null) {
        const to = fs.mkdtempSync('/tmp/halite-power-kept-');
        fs.cpSync(kept, path.join(to, 'data'), { recursive: true });
        fs.writeFileSync(path.join(to, 'log'), server.log);
        console.error(`the folder, as the cut left it, is ${to}/data`);
    }
    process.exit(1);
}

// Records a server on 'dir' for so long; half-way it is stopped and started.
async function record(dir, mode, ledger, ms) {
    const file = path.join(root, 'record');
    const env = { LD_PRELOAD: path.join(root, 'shim.so'), HALITE_POWER_DIR: dir, HALITE_POWER_LOG: file };
    let batches = 0;
    fs.rmSync(file, { force: true });
    for (let half = 0; half < 2; half++) {
        if (!await server.start(dir, [`halite.sync=${mode}`], env)) fail(`the server does not start:\n${server.log}`);
        const load = new Load(server, ledger, fail, () => fs.statSync(file).size), done = load.run();
        await new Promise((r) => setTimeout(r, ms / 2));
        load.on = false;
        await done;
        batches += load.batches;
        const how = await server.stop(half === 0 ? 'SIGTERM' : 'SIGKILL');
        if (half === 0 && how !== 0) fail(`SIGTERM ended with ${how}:\n${server.log}`);
    }
    return { bytes: fs.readFileSync(file), batches };
}

// Places of the record: half of them near what is not a plain write.
function choose(all, hot, len) {
    const places = new Set();
    for (let tries = 0; places.size < len && tries < 20 * len; tries++) {
        const near = random(2) === 0 && hot.length > 0;
        const i = near ? hot[random(hot.length)] + random(3) - 1 : random(all);
        if (i >= 0 && i < all) places.add(i);
    }
    return places;
}

const figures = { starts: 0, slowest: 0, cutLines: 0 };

// One cut by one model.
async function tryCut(disk, model, mode, ledger, cut, sum) {
    const dir = path.join(root, 'cut');
    fs.rmSync(dir, { recursive: true, force: true });
    disk.leave(model, dir, random);
    kept = path.join(root, 'kept');
    fs.rmSync(kept, { recursive: true, force: true });
    fs.cpSync(dir, kept, { recursive: true });
    const from = Date.now(), where = `${mode}, ${model}, cut at ${cut}`;
    if (!await server.start(dir, [`halite.sync=${mode}`])) fail(`${where}: the server does not start:\n${server.log}`);
    figures.starts++;
    figures.slowest = Math.max(figures.slowest, Date.now() - from);
    if (/cut off/.test(server.log)) figures.cutLines++;
    const seen = await look(server, fail);
    const { wrong, behind } = ledger.compare(seen, mode === 'always' ? cut : disk.walSynced.at, cut);
    if (wrong.length > 0) fail(`${where}: ${wrong.length} keys are wrong, such as\n${wrong.slice(0, 5).join('\n')}\n${server.log}`);
    sum.cuts++;
    sum.keys += seen.size;
    if (behind > 0) { sum.withLoss++; sum.worst = Math.max(sum.worst, behind); }
    if (disk.walSynced.time > 0) sum.window = Math.max(sum.window, (disk.now - disk.walSynced.time) / 1000);
    await server.stop('SIGKILL');
    if (long && figures.starts % 100 === 0) console.log(`${figures.starts} starts so far, all open, none lost what it may not`);
    kept = null;
}

// Records and cuts; returns a folder with holes in it.
async function campaign(name, dir, base, ledger, mode, ms, len) {
    const { bytes, batches } = await record(dir, mode, ledger, ms);
    const records = [], hot = [];
    readRecord(bytes, (r) => { if (!'wo'.includes(r.type)) hot.push(records.length); records.push(r); });
    const disk = new Disk(dir), places = choose(records.length, hot, len);
    const sums = Object.fromEntries(models.map((m) => [m, { cuts: 0, keys: 0, withLoss: 0, worst: 0, window: 0 }]));
    let next = null, done = 0;
    if (base !== null) disk.load(base);
    for (const [i, r] of records.entries()) {
        disk.apply(r);
        if (!places.has(i)) continue;
        for (const model of models) {
            await tryCut(disk, model, mode, ledger, r.end, sums[model]);
            if (model === 'holes' && ++done === Math.ceil(places.size * 2 / 3)) {
                next = path.join(root, 'again');
                fs.rmSync(next, { recursive: true, force: true });
                fs.renameSync(path.join(root, 'kept'), next);
            }
        }
    }
    for (const model of models) {
        const s = sums[model];
        const lost = mode === 'always' ? '0 acknowledged lost' : '0 lost of what was synced; ' +
            `in ${s.withLoss} cuts what was not, at most ${s.worst} keys, at most ${s.window.toFixed(0)} ms`;
        console.log(`${name} ${mode}, ${model}: ${s.cuts} cuts, all open, ${Math.round(s.keys / s.cuts)} keys each; ${lost}`);
    }
    console.log(`${name} ${mode}: ${batches} batches of ${BATCH + 1} points acknowledged, ${records.length} calls recorded`);
    return next;
}

for (const mode of ['always', 'interval', 'off']) {
    if (onlyMode !== undefined && onlyMode !== mode) continue;
    const dir = path.join(root, 'data');
    fs.rmSync(dir, { recursive: true, force: true });
    fs.mkdirSync(dir);
    const again = await campaign('first', dir, null, new Ledger(), mode, long ? 2000 : 1000, Math.ceil(cuts * 3 / 4));
    if (again === null || cuts < 2) continue;
    const base = path.join(root, 'base');
    fs.rmSync(base, { recursive: true, force: true });
    fs.cpSync(again, base, { recursive: true });
    if (!await server.start(again, [`halite.sync=${mode}`])) fail(`the server does not start:\n${server.log}`);
    const seen = await look(server, fail);
    await server.stop('SIGKILL');
    fs.rmSync(again, { recursive: true, force: true });
    fs.cpSync(base, again, { recursive: true });
    await campaign('again', again, base, Ledger.after(seen), mode, long ? 1000 : 500, Math.floor(cuts / 4));
}
console.log(`${figures.starts} starts, ${figures.cutLines} of them cut something off, the slowest took ${figures.slowest} ms`);

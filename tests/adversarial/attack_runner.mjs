// attack_runner.mjs HALITE FOLDER SEED [--long]: runs the attacks that adversarial.mjs names, one
// after the other, and tells what came of each: {text, faults, tries, late}.
import fs from 'node:fs';
import path from 'node:path';
import { attacks } from './attacks.mjs';
import { Baseline, random, reseed, Server, sleep, until } from './rig.mjs';

const [halite, root, seed, ...words] = process.argv.slice(2);
const long = words.includes('--long');

// A baseline client may wait this long whatever it waited before: the machine is shared.
const FLOOR_MS = 50;
// Memory that an allocator may keep of an attack, in MB.
const KEPT_MB = 48;

let runs = 0;

// What an attack is given.
class Run {
    constructor(name) { this.name = name; this.number = ++runs; this.tries = 0; this.late = 0; this.faults = []; this.notes = []; }
    long = long;
    halite = halite;
    root = root;
    // One bad input more, and whether the server did right.
    check(ok, what) {
        this.tries++;
        if (!ok) this.faults.push(what);
        return ok;
    }
    // The same of a time: that it was long may be the machine's fault, so such an attack is tried again.
    quick(ok, what) {
        if (!this.check(ok, what)) this.late++;
    }
    // A few of a list, by chance, in the short form.
    some(list, len) {
        return long ? list : list.filter((_, i) => random(list.length) < len || i === 0);
    }
    note(text) { this.notes.push(text); }
    get port() { return this.server.port; }
    // The same for the same name, and another one at another try.
    folder(name) {
        const dir = path.join(root, `${this.name.replace(/\W/g, '-')}-${name}-${process.pid}-${this.number}`);
        fs.mkdirSync(dir, { recursive: true });
        return dir;
    }
}

function resources(s) { return { fds: s.fds(), threads: s.threads(), rss: s.rss() }; }

async function comesBack(t, was, keptMb) {
    // LevelDB starts its thread when it makes its first table.
    const back = await until(() => t.server.alive && t.server.fds() <= was.fds && t.server.threads() <= was.threads + 1, 30000, 20);
    if (!t.server.alive) return;
    if (!back) t.faults.push(`after it ${t.server.fds()} descriptors and ${t.server.threads()} threads, before ${was.fds} and ${was.threads}`);
    const rss = t.server.rss();
    if (rss > was.rss + keptMb) t.faults.push(`after it ${rss.toFixed(0)} MB, before ${was.rss.toFixed(0)}`);
}

// A baseline client's waiting: beside other attacks nothing excuses more than the floor.
function judgeBaseline(t, attack, alone, [before], [during, other]) {
    const floor = attack.floorMs ?? FLOOR_MS;
    const allowed = alone ? Math.max(2 * before.p99, 2 * other.p99, floor) : floor;
    if (during.p99 > allowed) {
        t.late++;
        t.faults.push(`the baseline client's p99 is ${during.p99.toFixed(1)} ms, ${before.p99.toFixed(1)} before, ${other.p99.toFixed(1)} at the other server`);
    } else if (during.worst > Math.max(10 * floor, 2 * other.worst)) { // one long halt
        t.late++;
        t.faults.push(`a baseline request took ${during.worst.toFixed(0)} ms, none at the other server more than ${other.worst.toFixed(0)}`);
    }
    if (during.failed > 0 && !attack.mayFail) t.faults.push(`${during.failed} of ${during.len} baseline requests failed`);
    if (during.len === 0) t.faults.push('the baseline client was not answered at all');
    return `p99 ${before.p99.toFixed(1)} -> ${during.p99.toFixed(1)} ms (other ${other.p99.toFixed(1)}; ${during.len})`;
}

let other = null, baseline = null; // those without an attack; they stay

async function run(attack, alone) {
    const t = new Run(attack.name);
    reseed(`${seed} ${attack.name}`);
    const options = attack.settings?.(t) ?? [];
    [t.server, other, baseline] = await Promise.all([
        Server.start(halite, [...(options.includes('--data') ? [] : ['--memory']), ...options], attack.process?.(t) ?? {}),
        other ?? Server.start(halite, ['--memory', 'halite.query.threads=1']),
        baseline ?? Baseline.start(),
    ]);
    await attack.prepare?.(t);
    let before = null, during = null;
    if (attack.baseline !== false) {
        await baseline.watch([t.server.port, other.port]);
        await sleep(long ? 1500 : 150);
        before = await baseline.look();
    }
    const was = resources(t.server);
    const start = Date.now();
    try {
        await attack.run(t);
        if (before) during = await baseline.look();
    } catch (e) {
        t.faults.push(`${e.stack}`);
    }
    const ms = Date.now() - start;
    if (!t.server.alive) t.faults.unshift(`the server is dead: ${t.server.ended}\n${t.server.log.slice(-1500)}`);
    if (t.server.alive) await comesBack(t, was, attack.keptMb ?? KEPT_MB);
    const figures = before && during ? judgeBaseline(t, attack, alone, before, during) : '';
    const rss = t.server.alive ? `${was.rss.toFixed(0)} -> ${t.server.rss().toFixed(0)} MB, peak ${t.server.peak().toFixed(0)}` : '';
    await baseline.watch([]);
    await t.server.stop();
    if (!/status 0/.test(t.server.ended) && t.server.ended !== undefined && !attack.mayDie) t.faults.push(`it ended with ${t.server.ended}\n${t.server.log.slice(-1500)}`);
    const text = [`${t.faults.length ? 'FAILED' : 'ok'}  ${[`${attack.name}: ${t.tries} tries, ${(ms / 1000).toFixed(1)} s`, figures, rss, ...t.notes].filter((x) => x).join('; ')}`, ...t.faults.slice(0, 20).map((f) => `    ${f}`)];
    if (t.faults.length > 20) text.push(`    and ${t.faults.length - 20} more`);
    return { text: text.join('\n'), faults: t.faults.length, tries: t.tries, late: t.late };
}

process.on('disconnect', () => process.exit(0));
process.on('message', async ({ name, alone }) => {
    let result;
    try {
        result = await run(attacks.find((a) => a.name === name), alone);
    } catch (e) {
        result = { text: `FAILED  ${name}: ${e.stack}`, faults: 1, tries: 0, late: 0 };
    }
    process.send(result);
});

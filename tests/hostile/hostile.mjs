// hostile.mjs HALITE FOLDER [--long] [NAME...]: attacks on a real server.  See README.md.
import fs from 'node:fs';
import path from 'node:path';
import { Calm, random, Server, sleep, until } from './rig.mjs';
import slow from './slow.mjs';
import scarce from './scarce.mjs';
import oversize from './oversize.mjs';
import smuggle from './smuggle.mjs';
import heavy from './heavy.mjs';
import names from './names.mjs';
import rights from './rights.mjs';

const [halite, root, ...words] = process.argv.slice(2);
const long = words.includes('--long');
const wanted = words.filter((w) => !w.startsWith('--'));

// A calm client may wait this long whatever it waited before: the machine is shared.
const FLOOR_MS = 50;
// Memory that an allocator may keep of an attack, in MB.
const KEPT_MB = 48;

const groups = [...slow, ...scarce, ...oversize, ...smuggle, ...heavy, ...names, ...rights];
let bad = 0, tried = 0;

// What an attack is given.
class Siege {
    constructor(name) { this.name = name; this.tries = 0; this.faults = []; this.notes = []; }
    long = long;
    halite = halite;
    root = root;
    // One bad input more, and whether the server did right.
    check(ok, what) {
        this.tries++;
        if (!ok) this.faults.push(what);
        return ok;
    }
    // A few of a list, by chance, in the short form.
    some(list, len) {
        return long ? list : list.filter((_, i) => random(list.length) < len || i === 0);
    }
    note(text) { this.notes.push(text); }
    get port() { return this.server.port; }
    folder(name) {
        const dir = path.join(root, `${this.name.replace(/\W/g, '-')}-${name}`);
        fs.mkdirSync(dir, { recursive: true });
        return dir;
    }
}

function baseline(s) { return { fds: s.fds(), threads: s.threads(), rss: s.rss() }; }

async function comesBack(t, was, keptMb) {
    const back = await until(() => t.server.alive && t.server.fds() <= was.fds && t.server.threads() <= was.threads, 30000, 20);
    if (!t.server.alive) return;
    if (!back) t.faults.push(`after it ${t.server.fds()} descriptors and ${t.server.threads()} threads, before ${was.fds} and ${was.threads}`);
    const rss = t.server.rss();
    if (rss > was.rss + keptMb) t.faults.push(`after it ${rss.toFixed(0)} MB, before ${was.rss.toFixed(0)}`);
}

// True: the calm client was slow, and nothing else was wrong; 'again' lets that pass.
async function run(attack, again) {
    const t = new Siege(attack.name);
    const options = attack.settings?.(t) ?? [];
    t.server = await Server.start(halite, [...(options.includes('--data') ? [] : ['--memory']), ...options], attack.process?.(t) ?? {});
    t.other = await Server.start(halite, ['--memory', 'halite.query.threads=1']);
    await attack.prepare?.(t);
    let calm = null, before = null, during = null, was = null;
    if (attack.calm !== false) {
        calm = await Calm.start([t.server.port, t.other.port]);
        await sleep(100);
        await calm.look();
        await sleep(long ? 1500 : 250);
        before = await calm.look();
    }
    was = baseline(t.server);
    const start = Date.now();
    try {
        await attack.run(t);
        if (calm) { during = await calm.look(); }
    } catch (e) {
        t.faults.push(`${e.stack}`);
    }
    const ms = Date.now() - start;
    if (!t.server.alive) t.faults.unshift(`the server is dead: ${t.server.ended}\n${t.server.log.slice(-1500)}`);
    if (t.server.alive) await comesBack(t, was, attack.keptMb ?? KEPT_MB);
    let figures = '';
    if (before && during) {
        const [b] = before, [d, other] = during;
        const allowed = Math.max(2 * b.p99, 2 * other.p99, attack.floorMs ?? FLOOR_MS);
        if (d.p99 > allowed) t.slow = true, t.faults.push(`the calm client's p99 is ${d.p99.toFixed(1)} ms, ${b.p99.toFixed(1)} before, ${other.p99.toFixed(1)} at the other server`);
        if (d.failed > 0 && !attack.mayFail) t.faults.push(`${d.failed} of ${d.len} calm requests failed`);
        if (d.len === 0) t.faults.push('the calm client was not answered at all');
        figures = `p99 ${b.p99.toFixed(1)} -> ${d.p99.toFixed(1)} ms (other ${other.p99.toFixed(1)}; ${d.len})`;
    }
    const rss = t.server.alive ? `${was.rss.toFixed(0)} -> ${t.server.rss().toFixed(0)} MB, peak ${t.server.peak().toFixed(0)}` : '';
    await calm?.stop();
    await t.server.stop();
    if (!/status 0/.test(t.server.ended) && t.server.ended !== undefined && !attack.mayDie) t.faults.push(`it ended with ${t.server.ended}\n${t.server.log.slice(-1500)}`);
    await t.other.stop();
    tried += t.tries;
    console.log(`${t.faults.length ? 'FAILED' : 'ok'}  ${attack.name}: ${t.tries} tries, ${(ms / 1000).toFixed(1)} s; ${figures}; ${rss}${t.notes.length ? '; ' + t.notes.join('; ') : ''}`);
    for (const f of t.faults.slice(0, 20)) console.log(`    ${f}`);
    if (t.faults.length > 20) console.log(`    and ${t.faults.length - 20} more`);
    if (again && t.slow && t.faults.length === 1) return true;
    bad += t.faults.length > 0;
    return false;
}

for (const attack of groups) {
    if (wanted.length > 0 ? !wanted.some((w) => attack.name.includes(w)) : attack.byHand && !long) continue;
    // Who shares the machine may be slow for once: then it is tried again.
    for (let tries = 3; await run(attack, --tries > 0);) continue;
}
console.log(`${tried} bad inputs tried, ${bad} attacks did harm`);
process.exit(bad ? 1 : 0);

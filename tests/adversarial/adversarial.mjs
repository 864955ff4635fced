// adversarial.mjs HALITE FOLDER [--long] [NAME...]: attacks on a real server.  See README.md.
import { fork } from 'node:child_process';
import { attacks } from './attacks.mjs';

const [halite, root, ...words] = process.argv.slice(2);
const long = words.includes('--long');
const wanted = words.filter((w) => !w.startsWith('--'));
const seed = process.env.HALITE_SEED ?? `${Date.now() % 1e9}`;
const PROCESSES = 3;  // attacks side by side
const TRIES = 3;  // of an attack in which something took too long: the machine is shared

console.log(`HALITE_SEED=${seed}`);
let bad = 0, tried = 0;

// A process that runs attacks, one after the other, with a baseline client of its own.
class AttackProcess {
    constructor() {
        this.child = fork(new URL('attack_runner.mjs', import.meta.url).pathname, [halite, root, seed, ...(long ? ['--long'] : [])]);
        this.child.on('message', (m) => this.done(m));
        this.gone = new Promise((r) => this.child.on('exit', () => { this.done?.(null); r(); }));
    }
    // What came of an attack.  'alone': no other goes on.
    run(attack, alone) {
        return new Promise((resolve) => {
            if (!this.child.connected) { resolve(null); return; }
            this.done = resolve;
            this.child.send({ name: attack.name, alone });
        });
    }
    async end() { this.done = null; if (this.child.connected) this.child.disconnect(); await this.gone; }
}

function tell(result, attack) {
    if (result === null) result = { late: 0, faults: 1, tries: 0, text: `FAILED  ${attack.name}: its process ended` };
    console.log(result.text);
    tried += result.tries;
    bad += result.faults > 0;
}
// Whether nothing was wrong but that something took too long, which another try may forgive.
const isMoot = (result) => result !== null && result.faults > 0 && result.faults === result.late;

const chosen = attacks.filter((a) => wanted.length > 0 ? wanted.some((w) => a.name.includes(w)) : long || !a.byHand);
const start = Date.now();
const processes = [new AttackProcess()];

// What costs the server next to nothing goes side by side; whatever looks slow there is
// tried again by itself.
const alone = chosen.filter((a) => long || !a.light);
const light = chosen.filter((a) => !alone.includes(a));
while (processes.length < Math.min(PROCESSES, light.length)) processes.push(new AttackProcess());
await Promise.all(processes.map(async (runner) => {
    for (let attack; (attack = light.shift());) {
        const result = await runner.run(attack, false);
        if (isMoot(result)) alone.push(attack);
        else tell(result, attack);
    }
}));
await Promise.all(processes.splice(1).map((runner) => runner.end()));
for (const attack of alone) {
    for (let tries = TRIES; ; ) {
        if (!processes[0].child.connected) processes[0] = new AttackProcess();
        const result = await processes[0].run(attack, true);
        if (isMoot(result) && --tries > 0) { console.log(`again: ${result.text}`); continue; }
        tell(result, attack);
        break;
    }
}
await processes[0].end();
console.log(`${tried} bad inputs tried in ${((Date.now() - start) / 1000).toFixed(0)} s, ${bad} attacks did harm`);
process.exit(bad ? 1 : 0);

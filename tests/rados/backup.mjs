// backup.mjs HALITE: 'halite backup' of a pool under load, and again while an owner has just
// been killed: all that was acknowledged before it began is in it; it is clean.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { execFile } from 'node:child_process';
import { Fleet, Ledger, Load, compare, fail, finish, halite, look, pick, seconds, seed, until } from './rig.mjs';

console.log(`seed ${seed} (HALITE_SEED=${seed} repeats the choices)`);
const root = fs.mkdtempSync(path.join(fs.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir(), 'halite-backup-'));
process.on('exit', () => fs.rmSync(root, { recursive: true, force: true }));
const fleet = new Fleet();
const ledger = new Ledger(), load = new Load(fleet, ledger, { retry: true });
await fleet.start(3);
load.start();

async function backup(name) {
  const from = performance.now(), to = path.join(root, name);
  const before = new Map([...ledger.keys].filter(([, e]) => e.sure !== undefined).map(([key, e]) => [key, e.sure]));
  const told = await promisify(execFile)(halite, ['backup', '--store', fleet.place, to], { timeout: 120000 })
    .catch(e => fail(`${name}: ${e.code ?? e.signal}: ${e.stdout}${e.stderr}`));
  const took = performance.now() - from;
  const copy = new Fleet([], { place: to });
  const seen = await look(await copy.add());
  for (const [key, v] of before)
    if (!(seen.get(key) >= v)) await fail(`${name}: ${key} is ${seen.get(key)}, acknowledged before was ${v}`);
  for (const key of seen.keys()) if (!ledger.keys.has(key)) await fail(`${name}: ${key} was never written`);
  await copy.close();
  if (before.size === 0) await fail(`${name}: nothing was acknowledged before`);
  console.log(`${name}: ${before.size} points acknowledged before, ${seen.size} in the copy, ${seconds(took)}: ${told.stdout.split(': ')[1].trim()}`);
}
const some = async n => { const goal = ledger.acknowledged + n; await until('points', () => ledger.acknowledged > goal); };

await some(5000);
await backup('under-load');
const dead = pick(fleet.live);
await some(2000);
await dead.end('SIGKILL');
fleet.drop(dead);
await backup('after-a-kill');
await load.stop();
await fleet.ready();
await compare(ledger, fleet.daemons, 'after the backups');
await finish();

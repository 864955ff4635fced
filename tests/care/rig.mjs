// What the programs of this folder share: folders, daemons, commands, chances.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

export const halite = path.resolve(process.argv[2]);
export const seed = Number(process.env.HALITE_SEED ?? Date.now() % 1000000);
// A disk would be asked for durability some thousand times.
const where = fs.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir();
export const root = fs.mkdtempSync(path.join(where, 'halite-care-'));
const running = new Set();
process.on('exit', () => {
  for (const s of running) s.process.kill('SIGKILL');
  fs.rmSync(root, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

export function fail(why) {
  console.error(`FAILED: ${why}\nHALITE_SEED=${seed}`);
  process.exit(1);
}

let state = BigInt(seed);
export function random(n) { // splitmix64
  state = (state + 0x9e3779b97f4a7c15n) & 0xffffffffffffffffn;
  let z = state;
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & 0xffffffffffffffffn;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & 0xffffffffffffffffn;
  return Number((z ^ (z >> 31n)) % BigInt(n));
}

// { port, log, process, gone }; port 0 when it did not come up, then 'how' is the end.
export async function start(dir, words = []) {
  const s = { port: 0, log: '' };
  s.process = spawn(halite, ['tsd', '--bind', '127.0.0.1', '--port', '0', '--data', dir,
    'halite.store.min_free_bytes=1', ...words], { stdio: ['ignore', 'ignore', 'pipe'] });
  running.add(s);
  s.gone = new Promise(r => s.process.on('exit', (code, signal) => {
    running.delete(s);
    s.how = signal ?? code;
    r(s.how);
  }));
  await new Promise(resolve => {
    s.process.stderr.on('data', d => {
      s.log += d;
      const m = /listening on \S+:(\d+)/.exec(s.log);
      if (m && !s.port) { s.port = Number(m[1]); resolve(); }
    });
    s.process.on('close', resolve);
  });
  return s;
}
export async function stop(s, signal = 'SIGTERM') {
  s.process.kill(signal);
  return await s.gone;
}
export async function ask(s, method, p, body) {
  const r = await fetch(`http://127.0.0.1:${s.port}${p}`, { method, body: body === undefined ? undefined : JSON.stringify(body) });
  return { status: r.status, text: await r.text() };
}
// One of the program's commands, to its end.
export function run(...words) {
  const r = spawnSync(halite, words, { encoding: 'utf8' });
  return { rc: r.status ?? r.signal, text: r.stdout + r.stderr };
}
export function copy(from, to) {
  fs.rmSync(to, { recursive: true, force: true });
  fs.cpSync(from, to, { recursive: true });
}

// What the programs of this folder share: folders, daemons, commands, chances.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Random, seedOfRun } from '../random.mjs';

export const halite = path.resolve(process.argv[2]);
export const seed = seedOfRun();
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

const chances = new Random(seed);
export const random = n => chances.below(n);

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

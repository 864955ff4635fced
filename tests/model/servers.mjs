/* The daemons under test: start, stop, ask over HTTP, say over telnet. */
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { Fleet } from '../rados/rig.mjs';
import { pick } from './random.mjs';

const halite = process.argv[2];
export const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'halite-differential-'));
const running = new Set();
process.on('exit', () => {
  for (const s of running) s.process.kill('SIGKILL');
  fs.rmSync(dir, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

/* What a server or the model does that it must not; the round ends with it. */
export class Failure extends Error {}

export async function start(words) {
  const s = { words, port: 0, text: '' };
  await run(s);
  return s;
}
/* A server that is three: daemons of one store in a pool, each asked as it comes. */
export async function startThree(words) {
  const s = { words: ['three daemons of a pool', ...words], fleet: new Fleet(words), get port() { return pick(this.fleet.live).port; },
    get text() { return this.fleet.all.map(d => d.log).join(''); } };
  await s.fleet.start(3);
  return s;
}
async function run(s) {
  s.port = 0;
  s.text = '';
  s.process = spawn(halite, ['tsd', '--bind', '127.0.0.1', '--port', '0', ...s.words],
    { stdio: ['ignore', 'ignore', 'pipe'] });
  running.add(s);
  s.gone = new Promise(r => s.process.on('exit', (code, signal) => { running.delete(s); r(code ?? signal); }));
  await new Promise((resolve, reject) => {
    s.process.stderr.on('data', d => {
      s.text += d;
      const m = /listening on \S+:(\d+)/.exec(s.text);
      if (m && !s.port) { s.port = Number(m[1]); resolve(); }
    });
    s.gone.then(how => { if (!s.port) reject(new Failure(`the server ended with ${how}: ${s.text}`)); });
  });
}
export async function stop(s, signal = 'SIGTERM') {
  if (s.fleet) return await s.fleet.close();
  s.process.kill(signal);
  const how = await s.gone;
  if (signal === 'SIGTERM' && how !== 0) throw new Failure(`a stop ended with ${how}: ${s.text}`);
}
export async function restart(s, signal) {
  if (s.fleet) return await s.fleet.replace(signal);
  await stop(s, signal);
  await run(s);
}
/* What a server that records gets and that changes data, to be repeated elsewhere. */
function record(s, request) {
  const reads = /^\/api\/query\b/.test(request.path) && !request.body?.includes('"delete":true');
  if (s.recording && !reads) s.writes.push(request);
}
export function ask(s, method, p, body) {
  record(s, { method, path: p, body });
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) };
    const r = http.request({ host: '127.0.0.1', port: s.port, method, path: p, agent: false, headers }, m => {
      let text = '';
      m.on('data', d => { text += d; });
      m.on('end', () => resolve({ status: m.statusCode, text }));
    });
    r.on('error', e => reject(new Failure(`${method} ${p} ${body ?? ''}: ${e.message}; the server said ${s.text}`)));
    r.end(body);
  });
}
/* As ask(), but the answer must be one of 'good'. */
export async function must(s, method, p, body, good = [200, 204]) {
  const a = await ask(s, method, p, typeof body === 'string' ? body : JSON.stringify(body));
  if (!good.includes(a.status)) throw new Failure(`${method} ${p} ${typeof body === 'string' ? body : JSON.stringify(body)} answered ${a.status} ${a.text}`);
  return a;
}
export function say(s, lines) {
  record(s, { lines });
  return new Promise((resolve, reject) => {
    const c = net.connect(s.port, '127.0.0.1');
    let heard = '';
    c.on('error', reject);
    c.on('data', d => { heard += d; });
    c.on('close', () => resolve(heard));
    c.end(lines.join(''));
  });
}

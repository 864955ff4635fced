// make.mjs HALITE: makes the golden folder of the format that this program writes.
//
// tests/golden/format-N.tar.gz is a data folder as a killed daemon leaves it, with rows in
// tables and in the WAL; format-N.json.gz what it answers.
// Made once, when a format is new, and never again: golden.mjs asks whether later
// programs read it and answer the same.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { ask, fail, root, run, start, stop } from '../admin/rig.mjs';
import { queries, settings } from './golden.mjs';

const here = path.dirname(new URL(import.meta.url).pathname);
const data = path.join(root, 'data'), T0 = 1735689600;
const words = ['halite.store.seal_delay_ms=3600000', 'halite.sync=always', ...settings];

const hosts = ['web01', 'web02', 'db01', 'zürich'];
const kinds = { // metric -> value at step i of series h
  'golden.int': (i, h) => i * 7 % 100 + h * 1000,
  'golden.decimal': (i, h) => (i * 37 % 1000 + h) / 100,
  'golden.float': (i, h) => Math.fround(Math.sin(i + h) * 1e6),
  'golden.mixed': (i, h) => i % 3 ? i * h : i / 8,
  'golden.constant': () => 42,
  'golden.large': (i, h) => i % 2 ? 9007199254740991 - i : -i * 4294967296 - h,
};
async function put(s, hour) {
  const points = [];
  for (const [metric, value] of Object.entries(kinds))
    hosts.forEach((host, h) => {
      for (let i = 0; i < 30; i++) {
        const late = i % 10 === 9 ? 1 : 0; // some milliseconds, some gaps
        const at = T0 + hour * 3600 + i * 60 + (h === 2 ? i % 5 : 0);
        points.push({ metric, timestamp: late ? at * 1000 + 250 : at, value: value(i + hour * 30, h),
          tags: h % 2 ? { host, dc: 'lga' } : { host } });
      }
    });
  await post(s, '/api/put', points);
  await post(s, '/api/histogram', hosts.flatMap((host, h) => [0, 1, 2].map(i => ({ metric: 'golden.histogram', timestamp: T0 + hour * 3600 + i * 600,
    tags: { host }, buckets: { '0,10': h + i, '10,20': hour, '20,50.5': 3 }, underflow: 1, overflow: i }))));
  await post(s, '/api/rollup', hosts.map((host, h) => ({ metric: 'golden.rollup', timestamp: T0 + hour * 3600, value: h + hour / 4,
    tags: { host }, interval: '1h', aggregator: 'SUM' })));
}
async function post(s, p, body) {
  const r = await ask(s, 'POST', p, body);
  if (r.status !== 204) fail(`${p}: ${r.status} ${r.text}`);
}
async function maybe(s, p, body) { 
  const r = await ask(s, 'POST', p, body);
  if (r.status !== 200) console.log(`${p}: ${r.status}`);
}
let s = await start(data, words);
if (!s.port) fail(s.log);
await put(s, 0);
await maybe(s, '/api/annotation', { startTime: T0 + 60, endTime: T0 + 120, description: 'of all', notes: 'n', custom: { key: 'value' } });
await maybe(s, '/api/uid/uidmeta', { uid: '000001', type: 'metric', displayName: 'The First' });
await stop(s); // flushed, and in a table
s = await start(data, [...words.slice(1), 'halite.store.seal_delay_ms=1']);
await put(s, 1);
await stop(s, 'SIGKILL');
s = await start(data, words);
await put(s, 1); // the same again
run('backup', data, path.join(root, 'backup')); // which is flushed, into the engine's log
await put(s, 2);
await maybe(s, '/api/annotation', { startTime: T0 + 7200, description: 'in the WAL' });
const answers = [];
for (const q of queries) {
  const r = await ask(s, 'GET', q);
  answers.push([q, r.status, r.text]);
}
await stop(s, 'SIGKILL');
const version = /^halite (\d+)/.exec(fs.readFileSync(path.join(data, 'FORMAT'), 'utf8'))[1];
for (const name of ['LOG', 'LOG.old', 'LOCK']) fs.rmSync(path.join(data, 'engine', name), { force: true });
const tar = spawnSync('tar', ['--owner=0', '--group=0', '--mtime=@0', '--sort=name', '-C', data, '-cf', '-', '.'], { maxBuffer: 1 << 28 });
const packed = spawnSync('gzip', ['-9n'], { input: tar.stdout, maxBuffer: 1 << 28 });
const out = path.join(process.argv[3] ?? here, `format-${version}`);
fs.writeFileSync(`${out}.tar.gz`, packed.stdout);
fs.writeFileSync(`${out}.json.gz`, zlib.gzipSync(answers.map(a => JSON.stringify(a)).join('\n') + '\n', { level: 9 }));
console.log(`${out}: ${packed.stdout.length} bytes, ${answers.length} answers`);
process.exit(0);

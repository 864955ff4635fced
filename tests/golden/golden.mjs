// golden.mjs HALITE: the folder of the on-disk format opens, and answers what it answered
// when it was made; one of a newer format is rejected.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';

const T0 = 1735689600, range = `start=${T0}&end=${T0 + 4 * 3600}&ms=true`;
const metrics = ['int', 'decimal', 'float', 'mixed', 'constant', 'large'];
export const queries = [
  ...metrics.map(m => `/api/query?${range}&m=none:golden.${m}%7Bhost=*%7D`),
  ...metrics.map(m => `/api/query?${range}&m=sum:30m-avg:golden.${m}`),
  ...metrics.map(m => `/api/query?${range}&m=max:1h-max:golden.${m}%7Bdc=*%7D`),
  `/api/query?${range}&m=sum:rate:golden.int%7Bhost=web01%7Cdb01%7D`,
  '/api/suggest?type=metrics&max=100', '/api/suggest?type=tagk&max=100', '/api/suggest?type=tagv&max=100',
  '/api/search/lookup?m=golden.int', `/api/query/last?timeseries=golden.mixed%7Bhost=web01%7D&resolve=true`,
  `/api/annotations?start_time=${T0}&end_time=${T0 + 4 * 3600}`, '/api/uid/uidmeta?uid=000001&type=metric',
];

function crc32c(bytes) {
  let c = 0xffffffff;
  for (const b of bytes) {
    c ^= b;
    for (let i = 0; i < 8; i++) c = c & 1 ? (c >>> 1) ^ 0x82f63b78 : c >>> 1;
  }
  return (c ^ 0xffffffff) >>> 0;
}

async function main() {
  const { ask, fail, root, run, start, stop } = await import('../admin/rig.mjs');
  const here = path.dirname(new URL(import.meta.url).pathname), data = path.join(root, 'data');
  const unpack = name => {
    fs.rmSync(data, { recursive: true, force: true });
    fs.mkdirSync(data);
    const r = spawnSync('tar', ['-C', data, '-xzf', path.join(here, name)]);
    if (r.status !== 0) fail(`${name}: ${r.stderr}`);
  };
  const names = fs.readdirSync(here).filter(n => n.endsWith('.tar.gz')).sort();
  if (names.length < 1) fail('no folders');
  for (const name of names) {
    const packed = fs.readFileSync(path.join(here, name.replace('.tar.gz', '.json.gz')));
    const answers = zlib.gunzipSync(packed).toString().trim().split('\n').map(l => JSON.parse(l));
    unpack(name);
    const looked = run('fsck', data);
    if (looked.rc !== 0) fail(`${name}: fsck: ${looked.text}`);
    for (const how of ['first', 'again']) { // again: by this program
      const s = await start(data);
      if (!s.port) fail(`${name}: no start: ${s.log}`);
      for (const [q, status, text] of answers) {
        const r = await ask(s, 'GET', q);
        if (r.status !== status || r.text !== text) fail(`${name}, ${how}: ${q} is answered\n${r.status} ${r.text}\nand was\n${status} ${text}`);
      }
      if (await stop(s) !== 0) fail(`${name}: a stop ended with ${s.how}: ${s.log}`);
    }
    const after = run('fsck', data);
    if (after.rc !== 0) fail(`${name}: fsck afterwards: ${after.text}`);
    console.log(`${name}: ${answers.length} answers are the same`);
  }
  // Made by a newer program; and nothing in the folder has changed.
  unpack(names[names.length - 1]);
  const lines = fs.readFileSync(path.join(data, 'FORMAT'), 'utf8').split('\n').slice(0, -2);
  lines[0] = 'halite 1000';
  const body = lines.join('\n') + '\n', text = `${body}crc32c ${crc32c(Buffer.from(body)).toString(16).padStart(8, '0')}\n`;
  fs.writeFileSync(path.join(data, 'FORMAT'), text);
  const before = fs.readdirSync(path.join(data, 'engine')).sort().join();
  const s = await start(data);
  if (s.port || s.how !== 1 || !/1000/.test(s.log)) fail(`a newer format: ${s.how}: ${s.log}`);
  if (fs.readdirSync(path.join(data, 'engine')).sort().join() !== before || fs.readFileSync(path.join(data, 'FORMAT'), 'utf8') !== text)
    fail('a folder that was rejected has changed');
  for (const command of ['fsck', 'restore']) {
    const r = run(command, data, ...(command === 'restore' ? [path.join(root, 'back')] : []));
    if (r.rc !== (command === 'fsck' ? 2 : 1) || !/1000/.test(r.text)) fail(`${command} of a newer format: ${r.rc}: ${r.text}`);
  }
  console.log('a newer format is rejected');
}
if (process.argv[1] === new URL(import.meta.url).pathname || process.argv[1]?.endsWith('golden.mjs')) await main();

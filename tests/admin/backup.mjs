// backup.mjs HALITE [ROUNDS]: backups made while others write, and back.
//
// The ledger is kept here: what was acknowledged before a backup began must be in
// it, with its value, after it was restored to another folder and a daemon started
// there; and 'halite fsck' finds nothing wrong with either.  Then what must fail:
// a target that is not empty, a disk that is full, a second backup at a time, a
// daemon that is killed while it copies.  Last, hourly values whose points are gone.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { ask, fail, halite, random, root, run, seed, start, stop } from './rig.mjs';

const rounds = Number(process.argv[3] ?? 3);
const T0 = 1735689600, SERIES = 40, WRITERS = 3;
const data = path.join(root, 'data');
console.log(`seed ${seed}`);

const sure = new Map(); // "series time" -> value, acknowledged
let next = 0, writing = true, acked = 0;
async function writer(s, w) {
  while (writing) {
    const points = [];
    for (let i = 0; i < 200; i++, next++)
      points.push({ metric: `m${w}`, timestamp: T0 + next, value: next % 3 ? next : next / 8, tags: { host: `h${random(SERIES)}` } });
    const r = await ask(s, 'POST', '/api/put', points).catch(() => ({ status: 0 }));
    if (r.status !== 204) {
      if (writing) fail(`a put was answered ${r.status}: ${r.text}`);
      return;
    }
    for (const p of points) sure.set(`${p.metric}{host=${p.tags.host}} ${p.timestamp}`, p.value);
    acked += points.length;
  }
}
async function check(dir, want, words) {
  const s = await start(dir, words);
  if (!s.port) fail(`no start on ${dir}: ${s.log}`);
  const got = new Map();
  for (let w = 0; w < WRITERS; w++) {
    const r = await ask(s, 'GET', `/api/query?start=${T0}&end=${T0 + next + 1}&m=none:m${w}%7Bhost=*%7D`);
    if (r.status !== 200) fail(`a query on ${dir} was answered ${r.status}: ${r.text}`);
    for (const series of JSON.parse(r.text))
      for (const [t, v] of Object.entries(series.dps)) got.set(`m${w}{host=${series.tags.host}} ${t}`, v);
  }
  for (const [key, value] of want)
    if (got.get(key) !== value) fail(`${dir} has ${got.get(key)} at ${key}, not ${value}, which was acknowledged before`);
  if (await stop(s) !== 0) fail(`a stop ended with ${s.how}: ${s.log}`);
  return got.size;
}
const good = (r, what) => { if (r.rc !== 0) fail(`${what}: ${r.rc}: ${r.text}`); return r; };
const bad = (r, what, pattern) => {
  if (r.rc !== 1 || !pattern.test(r.text)) fail(`${what} must fail and say ${pattern}: ${r.rc}: ${r.text}`);
};
function later(...words) { // a command beside us
  return new Promise(resolve => {
    const p = spawn(halite, words);
    let text = '';
    p.stdout.on('data', d => { text += d; });
    p.stderr.on('data', d => { text += d; });
    p.on('close', code => resolve({ rc: code, text }));
  });
}

// -- under load ---------------------------------------------------------------
const small = ['halite.store.journal_segment_bytes=64K', 'halite.store.seal_delay_ms=1', 'halite.store.head_bytes=1M'];
let s = await start(data, small);
for (let round = 0; round < rounds; round++) {
  const dest = path.join(root, `backup${round}`), back = path.join(root, `back${round}`);
  writing = true;
  const writers = Array.from({ length: WRITERS }, (_, w) => writer(s, w));
  while (acked < (round + 1) * 4000) await new Promise(r => setTimeout(r, 5));
  const want = new Map(sure);
  const made = await later('backup', data, dest);
  writing = false;
  await Promise.all(writers);
  good(made, 'a backup');
  good(run('fsck', dest), 'fsck of the backup');
  good(run('restore', dest, back), 'restore');
  good(run('fsck', back), 'fsck of what was restored');
  const points = await check(back, want, []);
  console.log(`backup ${round}: ${want.size} points were acknowledged before it, ${points} are in it, ${sure.size} are now`);
  bad(run('backup', data, dest), 'a backup over another', /not empty/);
  bad(run('restore', dest, back), 'a restore over data', /not empty/);
  fs.rmSync(back, { recursive: true });
}

// -- what must fail -----------------------------------------------------------
if (await ask(s, 'POST', '/api/backup').then(r => r.status) !== 400) fail('a backup to nowhere');
if (await ask(s, 'POST', '/api/backup?to=relative').then(r => r.status) !== 400) fail('a relative path');
bad(run('backup', data, path.join(root, 'no/such/folder')), 'a folder without a parent', /No such file/);
const two = await Promise.all([1, 2].map(n => later('backup', data, path.join(root, `two${n}`))));
if (two.filter(r => r.rc === 0).length < 1) fail(`two at a time: ${JSON.stringify(two)}`);
for (const r of two) if (r.rc !== 0 && !/under way/.test(r.text)) fail(`two at a time: ${r.text}`);
const tiny = path.join(root, 'tiny');
fs.mkdirSync(tiny);
if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', tiny]).status === 0) {
  try {
    bad(run('backup', data, path.join(tiny, 'b')), 'a backup to a full disk', /room|space/i);
    if (fs.readdirSync(tiny).length) fail('a backup that failed left something');
  } finally { spawnSync('umount', [tiny]); }
} else console.log('no full disk: mount is not allowed');
bad(run('backup', data, path.join(data, 'inside')), 'a backup into the data folder', /data folder itself/);
if (fs.existsSync(path.join(data, 'inside.partial'))) fail('a rejected backup left something');
// What a killed backup left is replaced; what is none is not.
fs.cpSync(data, path.join(root, 'again.partial'), { recursive: true });
good(run('backup', data, path.join(root, 'again')), 'a backup after a killed one');
fs.mkdirSync(path.join(root, 'mine.partial'));
fs.writeFileSync(path.join(root, 'mine.partial/letter'), 'mine');
bad(run('backup', data, path.join(root, 'mine')), 'a backup over another folder', /no backup/);
if (!fs.existsSync(path.join(root, 'mine.partial/letter'))) fail('a letter is lost');
const dying = later('backup', data, path.join(root, 'dying'));
await stop(s, 'SIGKILL');
const died = await dying;
if (died.rc !== 0 && fs.existsSync(path.join(root, 'dying'))) fail('half a backup has the name of a whole one');
// Without a daemon, too; and what was acknowledged is all there.
good(run('backup', data, path.join(root, 'idle')), 'a backup without a daemon');
await check(path.join(root, 'idle'), sure, []);
await check(data, sure, small);
// A damaged store makes no backup.
const wal = fs.readdirSync(path.join(data, 'engine')).filter(n => n.endsWith('.ldb'))[0];
const file = path.join(data, 'engine', wal), bytes = fs.readFileSync(file);
bytes[100] ^= 1;
fs.writeFileSync(file, bytes);
bad(run('backup', data, path.join(root, 'damaged')), 'a backup of a damaged store', /checksum|corrupt/i);
if (fs.existsSync(path.join(root, 'damaged')) || fs.existsSync(path.join(root, 'damaged.partial')))
  fail('a backup of a damaged store is there');
// Hourly values that outlive their points answer in copies at once, for commands and servers.
const old = path.join(root, 'old'), lines = path.join(root, 'old.txt');
const now = Math.floor(Date.now() / 1000), keeps = ['halite.retention=old.* 30d 2y'];
let text = '';
for (let t = now - 400 * 86400; t < now - 380 * 86400; t += 3600)
  for (const host of 'abc') text += `old.m ${t} ${t % 97} host=${host}\n`;
fs.writeFileSync(lines, text);
good(run('import', `--data=${old}`, lines), 'an import');
const daily = dir => good(run('query', `--data=${dir}`, `${now - 500 * 86400}`, 'sum', 'downsample', '86400000', 'count', 'old.m'),
  'a query by command').text.split('\n').filter(line => line.startsWith('old.m '));
const days = daily(old);
if (days.length < 20) fail(`the original has ${days.length} days`);
s = await start(old, [...keeps, 'halite.retention.interval_ms=100', 'halite.store.summary_delay_ms=1']);
while (!/"points":1440/.test((await ask(s, 'GET', '/api/retention')).text)) await new Promise(r => setTimeout(r, 50));
const live = path.join(root, 'live');
good(run('backup', old, live), 'a backup of hourly values');
if (await stop(s) !== 0) fail(`a stop ended with ${s.how}: ${s.log}`);
const back = path.join(root, 'live-back'), copy = path.join(root, 'copy');
good(run('restore', live, back), 'a restore of hourly values');
good(run('copy', '--buckets', '5', old, copy), 'a copy of hourly values');
for (const dir of [old, live, back, copy]) {
  if (daily(dir).join() !== days.join()) fail(`${dir} has other days than there were: ${daily(dir)}`);
  good(run('fsck', dir), `fsck of ${dir}`);
  s = await start(dir, keeps);
  const r = await ask(s, 'GET', `/api/query?start=${now - 500 * 86400}&m=none:0all-count:old.m`);
  if (r.text.split(':480').length !== 4) fail(`${dir} answers ${r.text}`);
  if (await stop(s) !== 0) fail(`a stop ended with ${s.how}: ${s.log}`);
}
console.log(`${rounds} backups under load, and what must fail fails`);

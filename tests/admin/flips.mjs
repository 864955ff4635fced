// flips.mjs HALITE [FLIPS]: flipped bits and missing files, under the real server.
//
// A folder is made as a killed server leaves it: tables, a log and a manifest of the
// engine, several files of the WAL, data of each kind.  What a server answers on
// it is what must be answered.  Then, on copies of it, FLIPS times for each kind of
// file (4), one bit of such a file is flipped and a server started:
//
//   - it rejects to start, with exit status 1 and a line that names the file; or
//   - it starts, and each answer is the right one, or an error that says what
//     cannot be read.  Never another answer, never less of it, never a crash.
//
// 'halite fsck' must then find something if the server did, and what it calls clean
// must be answered rightly.  Some folders are repaired: fsck finds nothing afterwards,
// the server starts, and what it answers was there before, though maybe not all of it.
// At last each file is deleted, but the first and the last of the WAL: that is missed, or
// it changes nothing.
import fs from 'node:fs';
import path from 'node:path';
import { ask, copy, fail, random, root, run, seed, start, stop } from './rig.mjs';

const flips = Number(process.argv[3] ?? 4);
const REPAIRED = Math.max(1, Math.floor(flips / 4)); // of a kind
const T0 = 1735689600, HOURS = 6;
const image = path.join(root, 'image'), other = path.join(root, 'other'), trial = path.join(root, 'trial');
const words = ['halite.sync=always', 'halite.store.journal_segment_bytes=64K', 'halite.store.seal_delay_ms=3600000',
  'tsd.core.histograms.config={"net.opentsdb.core.SimpleHistogramDecoder": 0}'];
console.log(`seed ${seed}`);

// -- the folder ---------------------------------------------------------------
const series = [];
for (let i = 0; i < 30; i++) series.push({ metric: `m${i % 5}`, tags: { host: `h${i}`, dc: `d${i % 3}` } });
const value = (s, t) => s % 2 ? Math.sin(s + t) * 1000 : (t * 7919 + s * 31) % 100000;
async function put(s, hour, from = 0) {
  const points = [];
  for (let i = 0; i < series.length; i++)
    for (let t = from; t < 60; t++)
      points.push({ metric: series[i].metric, tags: series[i].tags, timestamp: T0 + hour * 3600 + t * 60, value: value(i, hour * 60 + t) });
  for (let i = 0; i < points.length; i += 600) await must(ask(s, 'POST', '/api/put', points.slice(i, i + 600)), 204);
}
async function must(call, status = 200) {
  const r = await call;
  if (r.status !== status) fail(`answered ${r.status}: ${r.text}`);
  return r;
}
async function makeImage(image, synced) {
  let s = await start(image, words);
  if (!s.port) fail(s.log);
  for (let h = 0; h < HOURS - 2; h++) await put(s, h);
  await must(ask(s, 'POST', '/api/annotation', { startTime: T0, description: 'of all', notes: 'n' }));
  await must(ask(s, 'POST', '/api/uid/uidmeta', { uid: '000001', type: 'metric', displayName: 'first' }));
  await must(ask(s, 'POST', '/api/tree', { name: 'tree' }));
  for (let i = 0; i < 20; i++)
    await must(ask(s, 'POST', '/api/histogram', [{ metric: 'hist', timestamp: T0 + i, id: 0, overflow: i, underflow: 0,
      buckets: { '0,10': i + 3, '10,20': 4 }, tags: { host: 'a' } }]), 204);
  // A stop makes a table of all that; then there is more, in several files of the WAL
  // or, when 'synced', in the engine's log, as far as that is on the disk.
  if (await stop(s) !== 0) fail(s.log);
  for (const how of ['flush', 'kill']) {
    s = await start(image, words);
    await put(s, how === 'flush' ? HOURS - 2 : HOURS - 1);
    await must(ask(s, 'POST', '/api/annotation', { startTime: T0 + 60, description: `at ${how}` }));
    if (how === 'kill' && synced) { // a backup flushes all, and syncs the engine
      const made = run('backup', image, path.join(root, 'backup'));
      if (made.rc !== 0) fail(made.text);
    }
    if (how === 'kill') await put(s, HOURS - 1, 0); // said twice: what has no mark behind it may be cut off
    await stop(s, 'SIGKILL');
  }
}

// -- what is answered ---------------------------------------------------------
const range = `start=${T0}&end=${T0 + HOURS * 3600}`;
const queries = [
  ...[0, 1, 2, 3, 4].map(m => ['GET', `/api/query?${range}&m=none:m${m}%7Bhost=*%7D`]),
  ['GET', `/api/query?${range}&m=sum:1h-avg:m0%7Bdc=*%7D`],
  ['GET', `/api/query?${range}&m=sum:percentiles%5B50%5D:hist`],
  ['GET', `/api/query?${range}&m=sum:m1%7Bhost=h1%7D&global_annotations`],
  ['GET', '/api/suggest?type=metrics&max=100'],
  ['GET', '/api/suggest?type=tagv&max=100'],
  ['GET', '/api/search/lookup?m=m1&limit=100'],
  ['GET', '/api/query/last?timeseries=m2&resolve=true'],
  ['GET', '/api/uid/uidmeta?uid=000001&type=metric'],
  ['GET', `/api/annotations?start_time=${T0}&end_time=${T0 + HOURS * 3600}`],
  ['GET', '/api/tree'],
];
async function answers(s) {
  const all = [];
  for (const [method, p] of queries) {
    const r = await ask(s, method, p).catch(() => ({ status: 0, text: 'no answer' }));
    all.push({ status: r.status, text: r.text.replace(/"time":[^,}]*/g, '') });
  }
  return all;
}

// 'fine', or 'told': by a rejection, or by errors.
async function tryServer(dir, what, right) {
  const s = await start(dir, words);
  if (!s.port) {
    if (s.how !== 1) fail(`${what}: the start ended with ${s.how}: ${s.log}`);
    if (!s.log.includes(dir)) fail(`${what}: the rejection names no file: ${s.log}`);
    return 'told';
  }
  const got = await answers(s);
  let told = false;
  for (let i = 0; i < got.length; i++) {
    if (got[i].status === 0) fail(`${what}: ${queries[i][1]} got no answer; ${s.how ?? 'it runs'}: ${s.log}`);
    if (got[i].status === right[i].status && got[i].text === right[i].text) continue;
    if (got[i].status < 500) fail(`${what}: ${queries[i][1]} is answered\n${got[i].status} ${got[i].text.slice(0, 2000)}\nand should be\n${right[i].text.slice(0, 2000)}\n${s.log}`);
    if (!/orrupt|damage|checksum|LevelDB|block/.test(got[i].text)) fail(`${what}: ${queries[i][1]} says nothing of damage: ${got[i].text}`);
    told = true;
  }
  const how = await stop(s);
  if (how !== 0 && !(told || how === 1)) fail(`${what}: a stop ended with ${how}: ${s.log}`);
  if (typeof how === 'string') fail(`${what}: a stop ended with ${how}: ${s.log}`);
  return told || how !== 0 ? 'told' : 'fine';
}

// Everything that is answered was there.  A name that is lost is "lost.KIND.UID" now.
const isLost = name => typeof name === 'string' && name.startsWith('lost.');
function isPart(part, whole) {
  if (isLost(part)) return typeof whole === 'string';
  if (Array.isArray(part)) return part.every(x => whole.some(y => isPart(x, y)));
  if (part !== null && typeof part === 'object') return whole !== null && typeof whole === 'object' && Object.entries(part).every(([k, v]) => isLost(k) || isPart(v, whole[k]));
  return Object.is(part, whole);
}
async function tryRepaired(dir, what, right) {
  const repaired = run('fsck', '--repair', '--quiet', dir);
  if (repaired.rc !== 1) fail(`${what}: fsck --repair ended with ${repaired.rc}: ${repaired.text}`);
  const again = run('fsck', dir);
  if (again.rc !== 0) fail(`${what}: fsck after repairing: ${again.rc}: ${again.text}\n${repaired.text}`);
  const s = await start(dir, words);
  if (!s.port) fail(`${what}: no start after repairing: ${s.log}`);
  const got = await answers(s);
  for (let i = 0; i < 5; i++) // points: never another one
    if (got[i].status === 200 && !isPart(JSON.parse(got[i].text), JSON.parse(right[i].text)))
      fail(`${what}: after repairing ${queries[i][1]} has what was not there: ${got[i].text.slice(0, 1000)}`);
  for (let i = 0; i < got.length; i++) if (got[i].status >= 500 || got[i].status === 0) fail(`${what}: after repairing ${queries[i][1]}: ${got[i].text}`);
  if (await stop(s) !== 0) fail(`${what}: a stop after repairing: ${s.log}`);
  return got.every((g, i) => g.text === right[i].text);
}

// -- all of it ----------------------------------------------------------------
await makeImage(image, false);
await makeImage(other, true);
const rights = new Map(); // folder -> what is right
for (const dir of [image, other]) {
  copy(dir, trial);
  const s = await start(trial, words);
  if (!s.port) fail(s.log);
  const got = await answers(s);
  got.forEach((g, i) => { if (g.status !== 200) fail(`${queries[i][1]}: ${g.status} ${g.text}`); });
  rights.set(dir, got);
  await stop(s);
  const clean = run('fsck', dir);
  if (clean.rc !== 0) fail(`fsck of the folder as it is: ${clean.text}`);
}

const filesOf = dir => ['.', 'engine', 'journal'].flatMap(part => fs.readdirSync(path.join(dir, part)).map(n => path.join(part, n)))
  .filter(f => fs.statSync(path.join(dir, f)).isFile());
const kindOf = f => f.replace(/^engine\/(\d+|MANIFEST-\d+)/, m => (m.includes('MANIFEST') ? 'engine/MANIFEST' : 'engine/*')).replace(/\d{20}/, '*');

for (const kind of new Set(filesOf(image).map(kindOf))) {
  const from = kind === 'engine/*.log' ? other : image, right = rights.get(from);
  const seen = { fine: 0, told: 0, found: 0, repaired: 0, whole: 0 };
  for (let n = 0; n < flips; n++) {
    const able = filesOf(from).filter(f => kindOf(f) === kind && fs.statSync(path.join(from, f)).size > 0);
    if (!able.length) break;
    const file = able[random(able.length)];
    const bytes = fs.readFileSync(path.join(from, file)), bit = random(bytes.length * 8);
    const what = `bit ${bit % 8} of byte ${bit >> 3} of ${bytes.length} in ${file}`;
    const spoil = () => { copy(from, trial); fs.writeFileSync(path.join(trial, file), spoiled); };
    const spoiled = Buffer.from(bytes);
    spoiled[bit >> 3] ^= 1 << bit % 8;
    spoil();
    const saw = await tryServer(trial, what, right);
    seen[saw]++;
    spoil();
    const looked = run('fsck', trial);
    if (looked.rc !== 0 && looked.rc !== 1) fail(`${what}: fsck ended with ${looked.rc}: ${looked.text}`);
    if (saw === 'told' && looked.rc !== 1) fail(`${what}: the server tells of it, and fsck finds nothing: ${looked.text}`);
    if (looked.rc === 1) {
      seen.found++;
      if (seen.repaired < REPAIRED) {
        seen.repaired++;
        if (await tryRepaired(trial, what, right)) seen.whole++;
      }
    }
  }
  console.log(`${kind}: ${flips} bits: ${seen.told} told by the server, ${seen.fine} harmless; ${seen.found} found by fsck; ${seen.repaired} repaired, ${seen.whole} of them whole`);
}

// Of the WAL only a file between others is missed.
const isEnd = (from, file) => {
  const all = filesOf(from).filter(f => f.endsWith('.wal')).sort();
  return file === all[0] || file === all.at(-1);
};
for (const [from, file] of [image, other].flatMap(dir => filesOf(dir).map(f => [dir, f]))) {
  if (file.endsWith('.wal') && isEnd(from, file)) continue;
  const right = rights.get(from);
  copy(from, trial);
  fs.rmSync(path.join(trial, file));
  const saw = await tryServer(trial, `${file} deleted`, right);
  copy(from, trial);
  fs.rmSync(path.join(trial, file));
  const looked = run('fsck', trial);
  const rejected = saw === 'told';
  if (rejected && looked.rc === 0) fail(`${file} deleted: the server misses it, fsck does not: ${looked.text}`);
  if (rejected && looked.rc === 1) await tryRepaired(trial, `${file} deleted`, right);
  console.log(`${file} deleted: ${rejected ? 'missed' : 'harmless'}`);
}
console.log('flipped bits and missing files: told, or harmless');

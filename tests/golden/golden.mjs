// golden.mjs HALITE: the folder of the on-disk format opens, and answers what it answered
// when it was made, and so do copies of it, also in a pool of Ceph and out of it where
// HALITE_TEST_RADOS is a cluster's ceph.conf; one of a newer format is rejected.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';

const T0 = 1735689600, range = `start=${T0}&end=${T0 + 4 * 3600}&ms=true`;
const metrics = ['int', 'decimal', 'float', 'mixed', 'constant', 'large'];
// What a server needs to know of what lies in the folder.
export const settings = [
  'tsd.core.histograms.config={"net.opentsdb.core.SimpleHistogramDecoder":0}', 'tsd.rollups.enable=true',
  'tsd.rollups.config={"aggregationIds":{"sum":0,"count":1},"intervals":[{"table":"a","preAggregationTable":"b","interval":"1m","rowSpan":"1h","defaultInterval":true},{"table":"c","preAggregationTable":"d","interval":"1h","rowSpan":"1d"}]}',
];
export const queries = [
  ...metrics.map(m => `/api/query?${range}&m=none:golden.${m}%7Bhost=*%7D`),
  ...metrics.map(m => `/api/query?${range}&m=sum:30m-avg:golden.${m}`),
  ...metrics.map(m => `/api/query?${range}&m=max:1h-max:golden.${m}%7Bdc=*%7D`),
  `/api/query?${range}&m=sum:rate:golden.int%7Bhost=web01%7Cdb01%7D`,
  '/api/suggest?type=metrics&max=100', '/api/suggest?type=tagk&max=100', '/api/suggest?type=tagv&max=100',
  '/api/search/lookup?m=golden.int', `/api/query/last?timeseries=golden.mixed%7Bhost=web01%7D&resolve=true`,
  `/api/query?${range}&m=sum:percentiles%5B50,99.9%5D:golden.histogram%7Bhost=*%7D`,
  `/api/query?${range}&m=none:1h-sum:golden.rollup%7Bhost=*%7D`,
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
  const conf = process.env.HALITE_TEST_RADOS, ns = `golden-${process.pid}`;
  const pool = `rados:tsdb/${ns}?conf=${conf}`;
  const rados = (...words) => spawnSync('rados', ['-c', conf, '-p', 'tsdb', '-N', ns, ...words], { encoding: 'utf8' });
  const emptyPool = () => {
    const objects = rados('ls').stdout.split('\n').filter(l => l);
    if (objects.length > 0) rados('rm', ...objects);
  };
  if (conf) process.on('exit', emptyPool);
  const names = fs.readdirSync(here).filter(n => n.endsWith('.tar.gz')).sort();
  if (names.length < 1) fail('no folders');
  for (const name of names) {
    const packed = fs.readFileSync(path.join(here, name.replace('.tar.gz', '.json.gz')));
    const answers = zlib.gunzipSync(packed).toString().trim().split('\n').map(l => JSON.parse(l));
    unpack(name);
    const versions = () => ['FORMAT', 'FORMAT.1'].map(f => /^halite (\d+)/.exec(fs.readFileSync(path.join(data, f), 'utf8'))[1]).join();
    const old = /\d+/.exec(name)[0];
    const looked = run('fsck', data);
    if (looked.rc !== 0) fail(`${name}: fsck: ${looked.text}`);
    if (versions() !== `${old},${old}`) fail(`${name}: fsck changed the version: ${versions()}`);
    const untimed = text => text.replace(/"time":\d+/, '"time":0'); // of a lookup, in ms
    const compare = async (how, place) => {
      const s = await start(place, settings);
      if (!s.port) fail(`${name}: no start: ${s.log}`);
      for (const [q, status, text] of answers) {
        const r = await ask(s, 'GET', q);
        if (r.status !== status || untimed(r.text) !== untimed(text)) fail(`${name}, ${how}: ${q} is answered\n${r.status} ${r.text}\nand was\n${status} ${text}`);
      }
      if (await stop(s) !== 0) fail(`${name}: a stop ended with ${s.how}: ${s.log}`);
    };
    const made = (...words) => {
      const r = run(...words);
      if (r.rc !== 0) fail(`${name}: ${words.join(' ')}: ${r.text}`);
    };
    const replace = () => {
      fs.rmSync(data, { recursive: true });
      fs.renameSync(`${data}.copy`, data);
    };
    // again: by this program; then copies with other salt buckets, and with as many as before.
    for (const [how, buckets] of [['first'], ['again'], ['in 5 buckets', 5], ['in 1', 1], ['in 16', 16]]) {
      if (buckets) {
        made('copy', '--buckets', String(buckets), data, `${data}.copy`);
        replace();
      }
      await compare(how, data);
    }
    for (const buckets of conf ? [64, 3] : []) {
      made('copy', '--buckets', String(buckets), data, pool);
      made('fsck', pool);
      await compare(`in a pool, in ${buckets} buckets`, pool);
      // By a command of its own, and while a server has it.
      made('copy', '--buckets', '5', pool, `${data}.copy`);
      replace();
      await compare('out of a pool', data);
      const s = await start(pool);
      made('backup', '--store', pool, `${data}.copy`);
      if (run('fsck', '--store', pool).rc !== 2) fail(`${name}: fsck of a pool that a server has`);
      if (await stop(s) !== 0) fail(`${name}: a stop ended with ${s.how}: ${s.log}`);
      emptyPool();
      made('restore', `${data}.copy`, pool);
      fs.rmSync(`${data}.copy`, { recursive: true });
      made('fsck', pool);
      emptyPool();
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
  console.log(`a newer format is rejected${conf ? '' : ' (no pool: HALITE_TEST_RADOS is not set)'}`);
  for (const [words, why] of [[['--buckets', '257'], /1 to 256/], [['--buckets', 'x'], /1 to 256/], [[], /1000/]]) {
    const r = run('copy', ...words, data, path.join(root, 'copied'));
    if (r.rc === 0 || !why.test(r.text)) fail(`copy ${words}: ${r.rc}: ${r.text}`);
  }
}
if (process.argv[1] === new URL(import.meta.url).pathname || process.argv[1]?.endsWith('golden.mjs')) await main();

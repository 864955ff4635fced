// node roundtrip.mjs build/halite [POINTS]: out of a store and into another one, and out again.
// Points of all kinds through 'scan --import | import'; all that a store holds through
// 'scan --json' and 'import --json', and the answers of servers on both stores; the memory that
// this takes.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { seedOfRun } from '../../random.mjs';

const halite = path.resolve(process.argv[2]);
const wanted = Number(process.argv[3] ?? 200000);
const seed = seedOfRun();
// Ten million numbers in a second, good enough to choose points by.
let state = seed >>> 0;
const chances = { below: n => { state = Math.imul(state, 1664525) + 1013904223 >>> 0; return Math.floor(state / 2 ** 32 * n); } };
const root = fs.mkdtempSync(path.join(os.tmpdir(), 'halite-roundtrip-'));
const running = new Set();
process.on('exit', () => {
  for (const p of running) p.kill('SIGKILL');
  fs.rmSync(root, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));
const at = name => path.join(root, name);
function fail(why) {
  console.error(`FAILED: ${why}\nHALITE_SEED=${seed}`);
  process.exit(1);
}

// -- points: [text as Java writes it]
const odd = ['0', '-1', '9223372036854775807', '-9223372036854775808', '0.1', '-0.0', '4.9E-324', '1.0E10',
  '1.7976931348623157E308', '-2.2250738585072014E-308', '16777217', '1.0E-4', '9007199254740993', '0.30000000000000004'];
const kinds = [
  () => String(chances.below(1000) - 500),
  () => String(BigInt.asIntN(64, BigInt(chances.below(2 ** 31)) * 9876543210987n)),
  () => `${chances.below(100000)}.${[5, 25, 125, 0][chances.below(4)]}`,
  () => { const v = 0.001 + chances.below(2 ** 31) / 7; return Number.isInteger(v) ? `${v}.0` : v < 1e7 ? String(v) : '0.5'; },
  () => odd[chances.below(odd.length)],
];
// Lines sum up to a number that does not depend on their order, nor on that of tags.
function hashOf(line) {
  let h = 0x811c9dc5;
  for (let i = 0; i < line.length; i++) h = Math.imul(h ^ line.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ h >>> 15, 0x2c1b3c6d);
  return (h ^ h >>> 13) >>> 0;
}
class Sum {
  lines = 0; a = 0; b = 0;
  add(line) {
    const words = line.split(' ');
    const h = hashOf(words.length > 4 && line[0] !== '{' ? [...words.slice(0, 3), ...words.slice(3).sort()].join(' ') : line);
    this.lines++;
    this.a = (this.a + h) % 2 ** 50;
    this.b = (this.b + Math.imul(h, 0x9e3779b1) % 65521 + 65521) % 2 ** 50;
  }
  toString() { return `${this.lines} lines, ${this.a}/${this.b}`; }
}
function makePoints(file) {
  const out = fs.openSync(file, 'w'), sum = new Sum(), series = [];
  let text = '', time = 1356998400;
  for (let i = 0; i < 400; i++)
    series.push([`m.${i % 7}`, i % 2 ? `host=h${i}` : `host=h${i} dc=d${i % 3}`, kinds[i % kinds.length], i % 4 === 3]);
  for (let made = 0; made < wanted; time += 10)
    for (const [metric, tags, value, ms] of series) {
      const line = `${metric} ${ms ? time * 1000 + 1 + chances.below(999) : time} ${value()} ${tags}`;
      sum.add(line);
      text += line + '\n';
      if (text.length > 1 << 20) { fs.writeSync(out, text); text = ''; }
      made++;
    }
  fs.writeSync(out, text);
  fs.closeSync(out);
  return sum;
}
function sumOf(file) {
  const sum = new Sum(), fd = fs.openSync(file, 'r'), bytes = Buffer.alloc(1 << 20);
  let rest = '', n;
  while ((n = fs.readSync(fd, bytes, 0, bytes.length, null)) > 0) {
    const lines = (rest + bytes.toString('latin1', 0, n)).split('\n');
    rest = lines.pop();
    for (const line of lines) sum.add(line);
  }
  fs.closeSync(fd);
  if (rest !== '') fail(`${file} ends within a line`);
  return sum;
}

// -- the program: its stdout goes to a file
const figures = [];
async function run(what, out, ...words) {
  const began = Date.now(), fd = out === null ? 'ignore' : fs.openSync(at(out), 'w');
  const p = spawn(halite, words, { stdio: ['ignore', fd, 'pipe'], env: { ...process.env, TZ: 'UTC' } });
  let said = '', peak = 0;
  running.add(p);
  p.stderr.on('data', d => { said += d; });
  const look = setInterval(() => {
    try {
      const m = /VmHWM:\s+(\d+)/.exec(fs.readFileSync(`/proc/${p.pid}/status`, 'utf8'));
      if (m) peak = Number(m[1]) / 1024;
    } catch { /* it has ended */ }
  }, 20);
  const rc = await new Promise(r => p.on('close', (code, signal) => r(code ?? signal)));
  clearInterval(look);
  running.delete(p);
  if (fd !== 'ignore') fs.closeSync(fd);
  if (rc !== 0) fail(`halite ${words.join(' ')} ended with ${rc}: ${said}`);
  figures.push(`${what}: ${((Date.now() - began) / 1000).toFixed(1)} s, ${peak.toFixed(0)} MB`);
  return said;
}
function same(what, a, b) {
  if (String(a) !== String(b)) fail(`${what}: ${a}, and ${b}`);
}

// -- servers, for what is no point
const settings = ['tsd.core.auto_create_metrics=true', 'tsd.core.tree.enable_processing=true', 'tsd.core.meta.enable_tsuid_tracking=true',
  'tsd.core.meta.enable_realtime_ts=true', 'tsd.core.meta.enable_realtime_uid=true',
  'tsd.core.histograms.config={"net.opentsdb.core.SimpleHistogramDecoder":0}', 'tsd.rollups.enable=true',
  'tsd.rollups.config={"aggregationIds":{"sum":0,"count":1},"intervals":[{"table":"a","preAggregationTable":"b","interval":"1m","rowSpan":"1h","defaultInterval":true},{"table":"c","preAggregationTable":"d","interval":"1h","rowSpan":"1d"}]}'];
async function start(dir) {
  const p = spawn(halite, ['tsd', '--bind', '127.0.0.1', '--port', '0', '--data', at(dir), ...settings], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  running.add(p);
  const port = await new Promise((resolve, reject) => {
    p.stderr.on('data', d => {
      log += d;
      const m = /listening on \S+:(\d+)/.exec(log);
      if (m) resolve(Number(m[1]));
    });
    p.on('exit', () => reject(new Error(`the server ended: ${log}`)));
  }).catch(e => fail(e.message));
  return { p, port };
}
async function stop(s) {
  const gone = new Promise(r => s.p.on('exit', r));
  s.p.removeAllListeners('exit').on('exit', () => running.delete(s.p));
  s.p.kill('SIGTERM');
  await Promise.race([gone, new Promise(r => s.p.on('exit', r))]);
}
async function ask(s, method, where, body) {
  const r = await fetch(`http://127.0.0.1:${s.port}${where}`, { method, body: body === undefined ? undefined : JSON.stringify(body) });
  return { status: r.status, text: await r.text() };
}
async function must(s, method, where, body) {
  const r = await ask(s, method, where, body);
  if (r.status >= 300) fail(`${method} ${where}: ${r.status} ${r.text.slice(0, 500)}`);
  return r;
}
const TIME = 1356998400;
async function fill(s) {
  await must(s, 'GET', '/api/uid/assign?metric=lone');
  await must(s, 'POST', '/api/put', [{ metric: 'n.m', timestamp: TIME, value: 1, tags: { host: 'a', 'größe': 'ä/ö' } }]);
  await must(s, 'POST', '/api/rollup', [1, 2, 3].map(i => ({ metric: 'r.m', timestamp: TIME + 3600 * i, value: i + 0.5, tags: { host: 'a' }, interval: '1h', aggregator: 'sum' })));
  await must(s, 'POST', '/api/rollup', [{ metric: 'r.m', timestamp: TIME, value: 7, tags: { host: 'a' }, groupByAggregator: 'sum' }]);
  for (let i = 0; i < 30; i++)
    await must(s, 'POST', '/api/histogram', [{ metric: 'h.m', timestamp: i % 2 ? TIME + i : (TIME + i) * 1000 + 7, tags: { host: `h${i % 3}` }, buckets: { '0,1.75': i, '1.75,3.5': 2 * i + 1, '3.5,1.0E20': 0 }, underflow: i % 4, overflow: 9 }]);
  const tsuid = JSON.parse((await must(s, 'GET', '/api/search/lookup?m=n.m')).text).results[0].tsuid;
  for (let i = 0; i < 50; i++)
    await must(s, 'POST', '/api/annotation', { startTime: i % 2 ? TIME + i : (TIME + i) * 1000 + 1, endTime: i % 3 ? 0 : TIME + i + 5, ...(i % 5 ? { tsuid } : {}), description: `note ${i} "quoted" \\ \n ü`, notes: i % 7 ? '' : 'long '.repeat(100), ...(i % 4 ? {} : { custom: { owner: 'ann', empty: '', z: 'ü' } }) });
  const id = JSON.parse((await must(s, 'GET', '/api/uid/assign?metric=meta.m&tagk=meta.k&tagv=meta.v')).text);
  for (const [type, map] of Object.entries({ metric: id.metric, tagk: id.tagk, tagv: id.tagv }))
    for (const uid of Object.values(map))
      await must(s, 'POST', '/api/uid/uidmeta', { uid, type, displayName: `The ${type}`, description: 'ü', notes: '', custom: { a: 'b', c: '' }, created: 1234567890 });
  await must(s, 'POST', '/api/uid/tsmeta', { tsuid, displayName: 'series', units: 'B/s', dataType: 'gauge', retention: 30, max: 1.5, min: -0.25, custom: { k: 'v' } });
  for (const name of ['first', 'second']) await must(s, 'POST', '/api/tree', { name, description: `tree ${name}`, notes: 'n', strictMatch: name === 'second', enabled: true, storeFailures: true });
  await must(s, 'POST', '/api/tree/rule', { treeId: 1, level: 0, order: 0, type: 'METRIC', separator: '\\.' });
  await must(s, 'POST', '/api/tree/rule', { treeId: 1, level: 1, order: 0, type: 'TAGK', field: 'host', displayFormat: '{ovalue} is {value}', regex: '^(.*)$', regexGroupIdx: 0, description: 'd' });
  await must(s, 'POST', '/api/tree/rule', { treeId: 2, level: 0, order: 3, type: 'TAGK', field: 'dc' });
}
const requests = [
  ...[0, 1, 2, 3, 4, 5, 6].map(i => `/api/query?start=${TIME}&end=${TIME + 7200}&m=sum:m.${i}{host=*}&ms=true`),
  `/api/query?start=${TIME}&end=${TIME + 7200}&m=none:n.m&global_annotations=true`,
  `/api/query?start=${TIME}&end=${TIME + 20000}&m=sum:1h-sum:r.m`,
  `/api/annotations?start_time=${TIME}&end_time=${TIME + 100}`, '/api/tree', '/api/tree/branch?treeid=1',
  '/api/suggest?type=metrics&max=100', '/api/suggest?type=tagk&max=100', '/api/suggest?type=tagv&max=1000',
  '/api/search/lookup?m=n.m', '/api/uid/uidmeta?type=metric&uid=UID_OF_META', '/api/uid/tsmeta?m=n.m&tags=host=a',
];
async function answers(dir) {
  const s = await start(dir), all = [];
  for (const q of requests) {
    if (q.includes('UID_OF_META')) {
      const id = JSON.parse((await ask(s, 'GET', '/api/uid/assign?metric=meta.m')).text).metric_errors['meta.m'].slice(-6);
      all.push((await ask(s, 'GET', q.replace('UID_OF_META', id))).text.replace(/"uid":"\w+"/, ''));
    } else {
      const r = await ask(s, 'GET', q);
      all.push(`${r.status} ${r.text}`.replace(/"(uid|tsuid|created|branchId)":("\w*"|\d+)/g, ''));
    }
  }
  const h = await ask(s, 'POST', '/api/query', { start: TIME * 1000, end: (TIME + 100) * 1000, queries: [{ aggregator: 'sum', metric: 'h.m', tags: { host: '*' }, percentiles: [50, 99.9] }] });
  all.push(`${h.status} ${h.text}`);
  await stop(s);
  return all;
}

const began = Date.now();
const made = makePoints(at('points'));
await run('import', null, 'import', '--data', at('a'), at('points'));
await run('scan --import', 'a.text', 'scan', '--import', '--data', at('a'));
same('what was imported is what is scanned', sumOf(at('a.text')), made);
await run('import of that', null, 'import', '--data', at('b'), at('a.text'));
fs.rmSync(at('points'));
await run('its scan', 'b.text', 'scan', '--import', '--data', at('b'));
same('scan, import, scan', sumOf(at('b.text')), made);
for (const f of ['a.text', 'b.text', 'b']) fs.rmSync(at(f), { recursive: true });

const s = await start('a');
await fill(s);
await stop(s);
await run('scan --json', 'a.json', 'scan', '--json', '--data', at('a'));
const said = await run('import --json', null, 'import', '--json', '--data', at('c'), at('a.json'));
if (!/ 0 bad lines/.test(said)) fail(`import --json: ${said}`);
await run('its scan', 'c.json', 'scan', '--json', '--data', at('c'));
const types = {};
for (const line of fs.readFileSync(at('a.json'), 'latin1').split('\n').slice(0, -1).filter(l => !l.startsWith('{"type":"points"') || l.includes('"kind"'))) {
  const type = /^{"type":"(\w+)"/.exec(line)[1];
  types[type] = (types[type] ?? 0) + 1;
}
for (const [type, least] of Object.entries({ uid: 30, tree: 2, rule: 3, uidmeta: 3, tsmeta: 1, annotation: 50, histogram: 30, points: 2 }))
  if (!(types[type] >= least)) fail(`${types[type]} lines of type ${type}: ${JSON.stringify(types)}`);
same('scan --json, import --json, scan --json', sumOf(at('c.json')), sumOf(at('a.json')));
const [first, second] = [await answers('a'), await answers('c')];
first.forEach((text, i) => { if (text !== second[i]) fail(`${requests[i] ?? 'histograms'}:\n${text.slice(0, 2000)}\n${second[i].slice(0, 2000)}`); });
if (!/"dps":{"\d+":/.test(first[0]) || /"error"/.test(first.join(''))) fail(`the servers do not answer: ${first.find(t => /"error"/.test(t)) ?? first[0]}`);

// -- by the API of a server, which names no rollups, and gives other ids
if (wanted <= 200000) {
  const old = await start('a');
  fs.writeFileSync(at('conf'), settings.map(l => l + '\n').join(''));
  const told = await run('import --from', null, 'import', '--config', at('conf'), '--from', `http://127.0.0.1:${old.port}`, '--since', String(TIME - 1), '--data', at('f'));
  await stop(old);
  if (!/ 0 bad lines/.test(told)) fail(`import --from: ${told}`);
  const third = await answers('f');
  const anyOrder = text => {
    const [, head, json] = /^(\d+ )?(.*)$/s.exec(text);
    const sorted = v => Array.isArray(v) ? v.map(sorted).sort((x, y) => JSON.stringify(x) < JSON.stringify(y) ? -1 : 1)
      : v && typeof v === 'object' ? Object.fromEntries(Object.keys(v).sort().map(k => [k, sorted(v[k])])) : v;
    return head + JSON.stringify(sorted(JSON.parse(json.replaceAll('{,', '{').replaceAll(',,', ',').replaceAll(',}', '}'))));
  };
  first.forEach((text, i) => {
    if (requests[i]?.includes('r.m') || anyOrder(text) === anyOrder(third[i])) return;
    const [a, b] = [anyOrder(text), anyOrder(third[i])];
    let at = 0;
    while (a[at] === b[at]) at++;
    fail(`import --from: ${requests[i] ?? 'histograms'}: at ${at}:\n${a.slice(at - 80, at + 300)}\n${b.slice(at - 80, at + 300)}`);
  });
}
console.log(`${made.lines} points and all else, there and back, in ${((Date.now() - began) / 1000).toFixed(1)} s\n  ${figures.join('\n  ')}`);

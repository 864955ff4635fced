// node stock.mjs build/halite: 'import --from' of a server that does what a stock OpenTSDB does:
// no series is in its table of metadata, its lookup of rows names a series once per row, the
// earliest first, and bodies that Netty would hand over in chunks are rejected.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';

const halite = path.resolve(process.argv[2]);
const root = fs.mkdtempSync(path.join(os.tmpdir(), 'halite-stock-'));
process.on('exit', () => fs.rmSync(root, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));
const fail = why => { console.error(`FAILED: ${why}`); process.exit(1); };
const at = name => path.join(root, name);

// -- what it holds: series of points [ms, JSON text], ascending
const HOUR = 3600e3, DAY = 24 * HOUR, BEGIN = Date.UTC(2013, 0, 1);
const series = [];
const add = (metric, host, points, annotations = []) => series.push({
  metric, tags: { host }, points, annotations, tsuid: `00000${metric.length % 9}000001${String(series.length + 1).padStart(6, '0')}`,
});
const many = (n, from, step) => Array.from({ length: n }, (_, i) => [from + i * step, String(i)]);
for (let h = 0; h < 30; h++) // 30 hosts: 100,000 points in two days, a gap, as many again
  add('dense', `w${h}`, [...many(3400, BEGIN, 50e3), ...many(3400, BEGIN + 900 * DAY, 50e3)]);
add('sparse', 'w1', [[-5e3 + 86400e3, '1'], [BEGIN, '2.5'], [BEGIN + 500, '-9007199254740993'], [BEGIN + 3000 * DAY, '1.0E-4']],
  [{ tsuid: 'x', startTime: BEGIN / 1e3, endTime: 0, description: 'of a series', notes: '', custom: null }]);
add('broken', 'w1', many(3, BEGIN, 1e3));
// Beside no point, in an hour of its own: answered without names.
const lone = { tsuid: series.at(-2).tsuid, startTime: BEGIN / 1e3 + 77 * 86400, description: 'alone' };
const names = { metrics: [...new Set(series.map(s => s.metric)), 'empty'], tagk: ['host'], tagv: [...new Set(series.map(s => s.tags.host))] };
for (let i = 0; i < 400; i++) names.tagv.push(`nowhere-${'long'.repeat(10)}-${i}`);

// -- what it answers
const MOST = 300000; // points of one answer
let asked = 0, longest = 0;
function query(q) {
  const [sub] = q.queries, answer = [];
  asked++;
  if (sub.tsuids && q.start >= Date.UTC(2010, 0, 1) && q.end - q.start > 31 * DAY) fail(`a look from ${q.start} to ${q.end}`);
  if (q.queries.length !== 1 || sub.aggregator !== 'none' || !q.msResolution) return fail(`query ${JSON.stringify(q)}`);
  if (sub.showHistogramBuckets) return [400, { error: { code: 400, message: 'no histograms here' } }];
  if (sub.metric === 'broken') return [400, { error: { code: 400, message: "No such unique ID for 'tagv'" } }];
  const ms = t => t < 1e10 ? t * 1e3 : t;
  const first = Math.min(...series.filter(s => s.metric === sub.metric).map(s => s.points[0][0]));
  if (ms(q.start) < first && ms(q.end) > first + HOUR) fail(`a long span, ${q.start} to ${q.end}, where ${sub.metric} begins`);
  if (sub.metric === 'dense' && ms(q.start) >= first) longest = Math.max(longest, ms(q.end) - ms(q.start));
  let points = 0;
  for (const s of series.filter(s => sub.tsuids ? sub.tsuids.includes(s.tsuid) : s.metric === sub.metric)) {
    let dps = s.points.filter(([t]) => t >= ms(q.start) && t <= ms(q.end));
    points += dps.length;
    if (sub.downsample === '1h-count') dps = [...new Set(dps.map(([t]) => t - t % HOUR))].map(t => [t, '7']);
    const notes = s.annotations.filter(n => n.startTime >= ms(q.start) / 1e3 && n.startTime <= ms(q.end) / 1e3);
    if (dps.length > 0)
      answer.push(`{"metric":"${s.metric}","tags":${JSON.stringify(s.tags)},"aggregateTags":[],"tsuids":["${s.tsuid}"],` +
        `${notes.length > 0 ? `"annotations":${JSON.stringify(notes)},` : ''}"dps":{${dps.map(([t, v]) => `"${t}":${v}`)}}}`);
  }
  if (sub.metric === 'sparse' && ms(q.start) <= lone.startTime * 1e3 && ms(q.end) >= lone.startTime * 1e3)
    answer.push(JSON.stringify({ metric: '', tags: {}, aggregateTags: [], tsuids: [], annotations: [lone], dps: {} }));
  return points > MOST ? [413, { error: { code: 413, message: 'too much' } }] : [200, `[${answer}]`];
}
function lookup(q) {
  const rows = [];
  for (const s of q.useMeta === false ? series.filter(s => s.metric === q.metric) : [])
    for (const hour of new Set(s.points.map(([t]) => t - t % HOUR))) rows.push([hour, s]);
  rows.sort(([a], [b]) => a - b);
  return [200, { type: 'LOOKUP', metric: q.metric, results: rows.slice(0, q.limit).map(([, s]) => ({ tsuid: s.tsuid, metric: s.metric, tags: s.tags })) }];
}
const requests = {
  '/api/suggest': (q, p) => [200, names[p.get('type')].slice(0, +p.get('max'))],
  '/api/uid/assign': q => { const [[kind, list]] = Object.entries(q); return [400, { [kind]: {}, [`${kind}_errors`]: Object.fromEntries(list.map(n => [n, 'Name already exists with UID: 000001'])) }]; },
  '/api/uid/uidmeta': (q, p) => {
    const s = series[{ metric: Number(p.get('uid')) === 6 ? 30 : 0, tagk: 0, tagv: Number(p.get('uid')) - 1 }[p.get('type')]];
    const name = { metric: s.metric, tagk: 'host', tagv: s.tags.host }[p.get('type')];
    return [200, { uid: p.get('uid'), type: p.get('type').toUpperCase(), name, description: '', notes: '', created: 0, custom: null, displayName: '' }];
  },
  '/api/tree': () => [200, []],
  '/api/annotations': () => [200, [{ startTime: BEGIN / 1e3, description: 'of all' }]],
  '/api/search/lookup': lookup,
  '/api/query': query,
};
const listen = async requests => {
  const server = http.createServer((r, out) => {
    let body = '';
    r.on('data', d => body += d).on('end', () => {
      const url = new URL(r.url, 'http://x'), serve = requests[url.pathname];
      const [status, answer] = body.length > 4096 ? [400, { error: { code: 400, message: 'Chunked request not supported.' } }]
        : serve ? serve(body && JSON.parse(body), url.searchParams) : fail(`request ${r.url}`);
      out.writeHead(status, { 'Content-Type': 'application/json; charset=UTF-8' }).end(typeof answer === 'string' ? answer : JSON.stringify(answer));
    });
  }).listen(0, '127.0.0.1');
  await new Promise(resolve => server.on('listening', resolve));
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
};
const old = await listen(requests);

// -- all of it comes, but for the metric that cannot be asked for, which is told
function run(...args) {
  const p = spawn(halite, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '', err = '';
  p.stdout.on('data', d => out += d);
  p.stderr.on('data', d => err += d);
  return new Promise(resolve => p.on('close', code => resolve({ code, out, err })));
}
const told = await run('import', '--data', at('new'), '--from', old.url);
const good = series.filter(s => s.metric !== 'broken'), wanted = good.reduce((n, s) => n + s.points.length, 0);
if (told.code !== 1 || !/: broken: .*No such unique ID/.test(told.err) || !told.err.includes(`${wanted} points`) || !told.err.includes(', 1 bad lines'))
  fail(`it ends with ${told.code}: ${told.err}`);
if (told.err.split('no histograms, queries for them are rejected: ').length !== 2) fail(`of histograms: ${told.err}`);
const scanned = await run('scan', '--json', '--data', at('new'));
const points = [], notes = [];
for (const line of scanned.out.split('\n').slice(0, -1)) {
  const v = JSON.parse(line.replace(/-9007199254740993/, '"$&"'));
  if (v.type === 'points') v.times.forEach((t, i) => points.push(`${v.metric} ${v.tags.host} ${t < 1e10 ? t * 1e3 : t} ${v.values[i]}`));
  if (v.type === 'annotation') notes.push(`${v.metric ?? ''} ${v.description}`);
}
const right = good.flatMap(s => s.points.map(([t, v]) => `${s.metric} ${s.tags.host} ${t} ${v.startsWith('-9') ? v : Number(v)}`));
if (points.sort().join('\n') !== right.sort().join('\n')) fail(`${points.length} points, not ${right.length}: ${points.find(p => !right.includes(p))} ${right.find(p => !points.includes(p))}`);
if (notes.sort().join(';') !== ' of all;sparse alone;sparse of a series') fail(`annotations ${notes.join(';')}`);
if (!scanned.out.includes('"kind":"metrics","name":"empty"')) fail('the name without points');
// In a gap it was asked for no span that could hold some ten million points, nor too often.
if (longest > 90 * DAY || asked > 500) fail(`${asked} queries, of up to ${longest / DAY} days`);
const some = await run('import', '--data', at('some'), '--from', old.url, '--only', 'points', '--metrics', 's*e');
if (some.code !== 0 || !some.err.includes('4 points in ') || !some.err.includes(' 0 other records')) fail(`--metrics: ${some.code} ${some.err}`);

// -- what is wrong with one metric, or one annotation, is told and leaves the others
const UNREADABLE = '0000000100000001', LOST = '0000FF', SHAPELESS = '0000FE'; // ids of four bytes; no name; a name that is no text
const alone = tsuid => ({ tsuid, startTime: BEGIN / 1e3 + 60, description: `alone ${tsuid}` });
const kinds = ['hist', 'huge', 'lost', 'maybe', 'notes', 'tight'];
const five = many(5, BEGIN, 1e3).map(([t, v]) => [t, Number(v)]), shortest = {};
const single = kind => `0000${10 + kinds.indexOf(kind)}000001000001`;
const inside = (q, t) => t >= (q.start < 1e10 ? q.start * 1e3 : q.start) && t <= (q.end < 1e10 ? q.end * 1e3 : q.end);
function other(q) {
  const [sub] = q.queries, kind = sub.metric ?? kinds[+sub.tsuids[0].slice(4, 6) - 10];
  const rejected = message => [400, { error: { code: 400, message } }], large = [413, { error: { code: 413, message: 'too much of it' } }];
  const dps = five.filter(([t]) => inside(q, t)), span = q.end - q.start;
  const answer = (metric, values) => ({ metric, tags: { host: 'w1' }, aggregateTags: [], tsuids: [single(kind)], dps: Object.fromEntries(values) });
  if (kind === 'lost') return rejected("No such unique ID for 'tagk'");
  if (sub.showHistogramBuckets) {
    if (q.start >= Date.UTC(2010, 0, 1) && span > 33 * DAY) fail(`histograms from ${q.start} to ${q.end}`);
    if (kind === 'maybe') return rejected('no such codec');
    return [200, kind.length !== 4 || dps.length === 0 ? [] : [answer(`${kind}_0.0_10.0`, [[BEGIN, 7]])]];
  }
  if (dps.length === 0) return [200, []];
  if (!sub.tsuids) shortest[kind] = Math.min(shortest[kind] ?? span, span);
  if (kind === 'huge' && inside(q, BEGIN + 3e3) || kind === 'tight' && span > 9e3) return large;
  const bad = [UNREADABLE, single('notes').replace('000001000001', `${LOST}000001`), `${SHAPELESS}000001000001`, single('notes')].map(alone);
  return [200, [answer(kind, dps), ...kind === 'notes' && !sub.tsuids && inside(q, BEGIN) ? [{ metric: '', tags: {}, tsuids: [], annotations: bad, dps: {} }] : []]];
}
const strange = await listen({
  '/api/suggest': (q, p) => [200, p.get('type') === 'metrics' ? kinds : []],
  '/api/search/lookup': q => [200, { results: q.useMeta === false ? [{ tsuid: single(q.metric), metric: q.metric, tags: { host: 'w1' } }] : [] }],
  '/api/annotations': () => [200, []],
  '/api/query': other,
  '/api/uid/uidmeta': (q, p) => p.get('uid') === LOST ? [404, { error: { code: 404, message: 'Could not find the requested UID' } }]
    : [200, { uid: p.get('uid'), name: p.get('uid') === SHAPELESS ? 7 : { metric: kinds[+p.get('uid') - 10], tagk: 'host', tagv: 'w1' }[p.get('type')] }],
});
fs.writeFileSync(at('conf'), 'tsd.core.histograms.config={"net.opentsdb.core.SimpleHistogramDecoder":0}\n');
const bounds = ['--since', String(Date.UTC(2012, 9, 1) / 1e3), '--until', String(Date.UTC(2013, 3, 1) / 1e3), '--only', 'points,annotations,histograms'];
const odd = await run('import', '--config', at('conf'), '--data', at('odd'), '--from', strange.url, ...bounds, '--rejects', at('rejects'));
const says = [/: lost: .*No such unique ID/, /: huge: from 1356998403 on: .*too much of it/, /: maybe: .*no such codec/,
  /: notes: an annotation is left out: its TSUID cannot be read/, /: notes: an annotation is left out: .*Could not find/,
  /: notes: an annotation is left out: the id 0000FE has no name/, /, 6 bad lines/];
for (const text of says) if (!text.test(odd.err)) fail(`not ${text}: ${odd.err}`);
if (odd.code !== 1 || /no histograms/.test(odd.err)) fail(`it ends with ${odd.code}: ${odd.err}`);
if (shortest.huge !== 999 || shortest.tight > 9e3) fail(`spans of ${JSON.stringify(shortest)} ms`);
if (fs.readFileSync(at('rejects'), 'utf8').split('\n').filter(l => /^{"tsuid":.*"alone /.test(l)).length !== 3) fail('the rejects');
const has = (await run('scan', '--json', '--config', at('conf'), '--data', at('odd'))).out.split('\n').slice(0, -1).map(l => JSON.parse(l));
const counts = kinds.map(k => has.filter(v => v.type === 'points' && v.metric === k).reduce((n, v) => n + v.times.length, 0));
if (`${counts}` !== '5,3,0,5,5,5') fail(`points of ${kinds}: ${counts}`);
if (has.filter(v => v.type === 'histogram').map(v => v.metric).join() !== 'hist') fail('the histograms');
if (has.filter(v => v.type === 'annotation').map(v => v.description).join() !== `alone ${single('notes')}`) fail('the annotations');
// Of a server of which no query for histograms has been answered so far: this metric's fault.
const first = await run('import', '--data', at('first'), '--from', strange.url, '--only', 'histograms', '--metrics', 'lost');
if (first.code !== 1 || !/: lost: .*No such unique ID/.test(first.err) || /no histograms/.test(first.err)) fail(`of the first: ${first.code} ${first.err}`);

// -- what ends an import says at which metric
strange.close();
const shapeless = await listen({
  '/api/suggest': (q, p) => [200, p.get('type') === 'metrics' ? ['first', 'second'] : []],
  '/api/search/lookup': () => [404, { error: { code: 404, message: 'Endpoint not found' } }],
  '/api/query': q => [200, q.queries[0].metric === 'first' ? [] : [{ metric: 'second', tags: { host: 'w1' }, annotations: { no: 'array' }, dps: {} }]],
  '/api/annotations': () => [200, []],
});
const ended = await run('import', '--data', at('ended'), '--from', shapeless.url, '--only', 'points,annotations');
if (ended.code !== 1 || !/second: .*\/api\/query: that is no answer of OpenTSDB's API/.test(ended.err)) fail(`it ends with ${ended.code}: ${ended.err}`);
shapeless.close();
console.log(`${points.length} points by ${asked} queries, of up to ${longest / DAY} days`);
old.close();
process.exit(0);

/*
 * A server that has run for a while answers like one that has just started.
 *
 *     node tests/model/warm.mjs HALITE [SECONDS] [SEED]
 *
 * One server in memory gets random writes and requests.  Each request also goes to a fresh
 * server: it starts with other settings (salt buckets, scan way, engine), gets all writes so
 * far in their order, and answers this one request; in the steps at the begin up to six, each
 * after its caches were dropped.  The two responses must be equal, byte for byte.  So every
 * cache and every fast path is compared with a server without it.
 */
import path from 'node:path';

if (process.argv[4] !== undefined) process.env.HALITE_SEED = process.argv[4];
const { below, chance, nextRound, pick, seedOfRound, shuffle, some } = await import('./random.mjs');
const { ask, dir, Failure, say, start, stop } = await import('./servers.mjs');
const { assign, makeWorld, pointsOf, put } = await import('./world.mjs');
const { happenings } = await import('./relations.mjs');
const { exp } = await import('./exp.mjs');
const { last, lookup, suggest } = await import('./find.mjs');
const { gexp } = await import('./gexp.mjs');
const { histograms } = await import('./histograms.mjs');
const { notes } = await import('./notes.mjs');
const { plain } = await import('./plain.mjs');
const { rollups } = await import('./rollups.mjs');

let until = Infinity; /* set behind the steps */
const FAMILIES = [plain, exp, gexp, notes, rollups, histograms, last, lookup, suggest];
const AT_ONCE = 4; /* fresh servers */

/* Filters that differ in little: case, type, negation, order, repeated literals, groupBy. */
function lookAlike(world) {
  world.alike ??= { list: some(world.values, 2), pattern: pick(['web*', 'WEB*', 'd*', 'k*', '*0*']), metric: pick(world.series).metric };
  const list = [...world.alike.list], { pattern } = world.alike;
  if (chance(20)) list.push(list[0]);
  const literals = (chance(30) ? shuffle(list).join('|').toUpperCase() : shuffle(list).join('|'));
  const filter = pick([
    literals, literals, pattern, pattern, `literal_or(${literals})`, `iliteral_or(${literals})`,
    `not_literal_or(${literals})`, `not_iliteral_or(${literals})`, `wildcard(${pattern})`,
    `iwildcard(${pattern})`, `regexp(${literals})`, 'regexp(web.*)', 'not_key()',
  ]);
  const tag = `${world.keys[chance(70) ? 0 : below(3)]}=${filter}`;
  const m = `${pick(['sum', 'count', 'none'])}:${chance(15) ? 'explicit_tags:' : ''}${world.metrics[world.alike.metric]}` +
    (chance(60) ? `{${tag}}` : `{}{${tag}}`);
  const range = `start=${world.base - 1}&end=${world.base + 2000 * world.step}`;
  return { method: 'GET', path: `/api/query?${range}&show_tsuids=true&m=${encodeURIComponent(m)}` };
}
function makeRequest(world, asked) {
  if (asked.length && chance(20)) return pick(asked);
  if (chance(50)) return lookAlike(world);
  const family = pick(FAMILIES.filter(f => !f.fits || f.fits(world)).flatMap(f => Array(f.weight).fill(f)));
  return family.request(world, family.make(world));
}

let fresh = 0;
const otherSettings = () => pick([
  ['--memory'], ['--memory', 'halite.store.encode_delay_ms=5'], ['--memory', 'tsd.storage.salt.buckets=1'], ['--memory', 'tsd.storage.salt.width=0'],
  ...['range', 'hints', 'seeks'].map(way => ['--memory', `halite.query.scan=${way}`]),
  ['--data', path.join(dir, `fresh-${fresh++}`), 'halite.store.head_bytes=1M', 'halite.store.seal_delay_ms=1'],
]);
/* A server that has the writes, and its answers: each is the first after its caches were dropped. */
async function withFresh(world, writes, use) {
  const s = await start([...otherSettings(), 'tsd.http.query.allow_delete=true', ...world.settings]);
  try {
    for (const w of writes) {
      if (w.lines) await say(s, w.lines);
      else await ask(s, w.method, w.path, w.body);
    }
    return await use(async ({ method, path, body }) => {
      await forget(s);
      return { ...await ask(s, method, path, body), words: s.words };
    });
  } finally {
    await stop(s, 'SIGKILL');
  }
}
const askFresh = (world, writes, request) => withFresh(world, writes, answer => answer(request));
/* The milliseconds that a lookup took are no part of its answer. */
const withoutTime = text => text.replace(/"time":[\d.]+,/, '');
const same = (got, want) => got.status === want.status && withoutTime(got.text) === withoutTime(want.text);
const shown = ({ method, path, body }) => `${method} ${decodeURIComponent(path)} ${body ?? ''}`;

let compared = 0; /* requests */
async function askSome(world, warm, asked) {
  for (let n = 5; n > 0 && Date.now() < until; n--) {
    const some = Array.from({ length: AT_ONCE }, () => makeRequest(world, asked)), got = [];
    for (const r of some) got.push(await ask(warm, r.method, r.path, r.body));
    const want = await Promise.all(some.map(r => askFresh(world, warm.writes, r)));
    asked.push(...some);
    some.forEach((r, i) => {
      compared++;
      if (same(got[i], want[i])) return;
      console.log(`asked before:\n${asked.slice(-12 - AT_ONCE, i - AT_ONCE).map(shown).join('\n')}\n\n${shown(r)}`);
      console.log(`warm: ${got[i].status} ${got[i].text.slice(0, 2000)}`);
      console.log(`${want[i].words.join(' ')}: ${want[i].status} ${want[i].text.slice(0, 2000)}`);
      throw new Failure('a warm server and a fresh one differ');
    });
  }
}
/* The same requests to the warm server, twice, and to a fresh one. */
async function compare(warm, step, ...requests) {
  await withFresh({ settings: [] }, warm.writes, async answer => {
    for (const request of requests) {
      const want = await answer(request);
      for (let time = 1; time <= 2; time++) {
        const got = await ask(warm, request.method, request.path, request.body);
        if (same(got, want)) continue;
        throw new Failure(`step "${step}", time ${time}: ${shown(request)}\nwarm:  ${got.status} ${got.text}\n` +
          `fresh: ${want.status} ${want.text}\nfresh server: ${want.words.join(' ')}`);
      }
      compared++;
    }
  });
}
const T0 = 1500000000; /* 40 minutes behind an hour */
const querying = m => ({ method: 'GET', path: `/api/query?start=${T0 - 1}&end=${T0 + 7200}&m=${encodeURIComponent(m)}` });
const line = (host, ts, value) => `put steps ${ts} ${value} host=${host}\n`;
async function writeTo(warm, lines) {
  const heard = await say(warm, lines);
  if (heard !== '') throw new Failure(`telnet said ${heard}`);
}
const forget = warm => ask(warm, 'GET', '/api/dropcaches'); /* flushes the open rows, too */

/* Buckets of the streaming downsampler against the points as they are stored: borders lie
 * inside rows, and inside blocks. */
const FOLDS = {
  sum: v => v.reduce((a, b) => a + b), min: v => Math.min(...v), max: v => Math.max(...v),
  count: v => v.length, first: v => v[0], last: v => v.at(-1), avg: v => v.reduce((a, b) => a + b) / v.length,
};
async function downsampleSteps(warm) {
  await writeTo(warm, Array.from({ length: 600 }, (_, i) => line('ds', T0 + 1200 + i * 10, (i * 7919) % 1000 - 500)));
  for (const state of ['open rows', 'flushed rows']) {
    const raw = Object.entries(JSON.parse((await ask(warm, 'GET', querying('none:steps{host=ds}').path)).text)[0].dps);
    for (const seconds of [60, 420, 3600, 4000, 5000]) {
      for (const [name, fold] of Object.entries(FOLDS)) {
        const buckets = new Map();
        for (const [ts, v] of raw) {
          const at = ts - ts % seconds;
          buckets.set(at, [...buckets.get(at) ?? [], v]);
        }
        const got = JSON.parse((await ask(warm, 'GET', querying(`none:${seconds}s-${name}:steps{host=ds}`).path)).text)[0].dps;
        const at = Object.keys(got), bad = at.find(t => fold(buckets.get(Number(t)) ?? [NaN]) !== got[t]);
        compared++;
        if (bad !== undefined || at.length < buckets.size - 1)
          throw new Failure(`step "${state}, ${seconds}s-${name}": at ${bad} ${got[bad]}; the points: ${buckets.get(Number(bad))}; ${at.length} of ${buckets.size} buckets`);
      }
    }
    await forget(warm);
  }
}
async function steps() {
  const warm = await start(['--memory', 'tsd.http.query.allow_delete=true']);
  warm.writes = [];
  warm.recording = true;
  const filters = ['web01', 'WEB01', 'web02', 'web*', 'WEB*', 'not_literal_or(web01)'].flatMap(f =>
    /[*(]/.test(f) ? [f, f.replace('not_l', 'not_il')] : [`literal_or(${f})`, `iliteral_or(${f})`])
    .concat(['wildcard(web*)', 'wildcard(web*)', 'wildcard(WEB*)', 'iwildcard(web*)', 'wildcard(w*1)', 'wildcard(W*1)', 'regexp(web.*)', 'regexp(WEB.*)', '*']);
  const all = async (step, these = ['literal_or(web01)', 'iliteral_or(web01)', 'literal_or(web02)', 'wildcard(web*)', '*']) => {
    const requests = these.map(f => querying(`sum:steps{host=${f}}`));
    const servers = Math.ceil(requests.length / 6); /* neighbours, which look alike, go to different ones */
    await Promise.all(Array.from({ length: servers }, (_, n) => compare(warm, step, ...requests.filter((_, i) => i % servers === n))));
  };

  const some = [];
  for (const host of ['web01', 'WEB01', 'Web01', 'db01']) for (let i = 0; i < 60; i++) some.push(line(host, T0 + i * 100, i * host.charCodeAt(0)));
  await writeTo(warm, some);
  await all('filters that differ in case', filters);
  await writeTo(warm, [line('web02', T0 + 60, 5), line('WEB03', T0 + 60, 7)]);
  await all('new series');
  await ask(warm, 'POST', '/api/uid/assign', '{"metric":["steps.new"],"tagv":["web04"]}');
  await compare(warm, 'a new name', querying('sum:steps{host=web04}'));
  await compare(warm, 'a new metric', querying('sum:steps.new'));
  await writeTo(warm, [line('web04', T0 + 70, 9)]);
  await all('a series of an assigned name');
  await ask(warm, 'POST', '/api/query', JSON.stringify({ start: T0 + 500, end: T0 + 900, delete: true,
    queries: [{ aggregator: 'sum', metric: 'steps', filters: [{ type: 'literal_or', tagk: 'host', filter: 'web01', groupBy: false }] }] }));
  await all('a deletion');
  await forget(warm);
  await all('dropped caches');
  await ask(warm, 'POST', '/api/uid/rename', '{"tagv":"web02","name":"web05"}');
  await all('a renamed value');
  await downsampleSteps(warm);
  await stop(warm);
}
async function round() {
  const world = makeWorld(), asked = [];
  world.values = ['web01', 'WEB02', 'Web03', 'db01', 'DB02', 'lga', 'LGA', 'Kim', 'kim']; /* case matters */
  for (const f of FAMILIES) f.prepare?.(world);
  const warm = await start(['--memory', 'tsd.http.query.allow_delete=true', ...pick([[], ['halite.store.encode_delay_ms=5', 'halite.store.seal_delay_ms=1', 'halite.store.summary_delay_ms=1']]), ...world.settings]);
  warm.writes = [];
  warm.recording = true;
  await assign(warm, world);
  await put(warm, world, pointsOf(world));
  for (const f of FAMILIES) await f.load?.(warm, world);
  for (let phase = 3; phase > 0 && Date.now() < until; phase--) {
    warm.recording = false;
    await askSome(world, warm, asked);
    if (chance(50)) await forget(warm);
    warm.recording = true;
    await happenings(world, [warm]);
  }
  await stop(warm);
}

try {
  await steps();
} catch (e) {
  console.log(`FAILED: ${e instanceof Failure ? e.message : e.stack}`);
  process.exit(1);
}
until = Date.now() + 1000 * Number(process.argv[3] ?? 20);
let rounds = 0;
while (Date.now() < until) {
  if (rounds) nextRound();
  try {
    await round();
    rounds++;
  } catch (e) {
    if (!(e instanceof Failure)) console.log(e.stack);
    console.log(`FAILED in round ${rounds + 1}: ${e.message}\nHALITE_SEED=${seedOfRound()} repeats it`);
    process.exit(1);
  }
}
console.log(`${rounds} rounds, ${compared} requests to a warm server and a fresh one, no difference`);

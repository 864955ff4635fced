/*
 * A server that has run for a while answers like one that has just started.
 *
 *     node tests/model/warm.mjs HALITE [SECONDS] [SEED]
 *
 * One server in memory gets random writes and requests.  Each request also goes to a fresh
 * server: it starts with other settings (salt buckets, scan way, engine), gets all writes so
 * far in their order, and answers this one request.  The two responses must be equal, byte
 * for byte.  So every cache and every fast path is compared with a server without it.
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

const until = Date.now() + 1000 * Number(process.argv[3] ?? 20);
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
  ['--memory'], ['--memory', 'tsd.storage.salt.buckets=1'], ['--memory', 'tsd.storage.salt.width=0'],
  ...['range', 'hints', 'seeks'].map(way => ['--memory', `halite.query.scan=${way}`]),
  ['--data', path.join(dir, `fresh-${fresh++}`), 'halite.store.head_bytes=1M', 'halite.store.seal_delay_ms=1'],
]);
async function askFresh(world, writes, { method, path, body }) {
  const s = await start([...otherSettings(), 'tsd.http.query.allow_delete=true', ...world.settings]);
  try {
    for (const w of writes) {
      if (w.lines) await say(s, w.lines);
      else await ask(s, w.method, w.path, w.body);
    }
    return { ...await ask(s, method, path, body), words: s.words };
  } finally {
    await stop(s, 'SIGKILL');
  }
}
const shown = ({ method, path, body }) => `${method} ${decodeURIComponent(path)} ${body ?? ''}`;

let requests = 0;
async function askSome(world, warm, asked) {
  for (let n = 5; n > 0 && Date.now() < until; n--) {
    const some = Array.from({ length: AT_ONCE }, () => makeRequest(world, asked)), got = [];
    for (const r of some) got.push(await ask(warm, r.method, r.path, r.body));
    const want = await Promise.all(some.map(r => askFresh(world, warm.writes, r)));
    asked.push(...some);
    some.forEach((r, i) => {
      requests++;
      if (got[i].status === want[i].status && got[i].text === want[i].text) return;
      console.log(`asked before:\n${asked.slice(-12 - AT_ONCE, i - AT_ONCE).map(shown).join('\n')}\n\n${shown(r)}`);
      console.log(`warm: ${got[i].status} ${got[i].text.slice(0, 2000)}`);
      console.log(`${want[i].words.join(' ')}: ${want[i].status} ${want[i].text.slice(0, 2000)}`);
      throw new Failure('a warm server and a fresh one differ');
    });
  }
}
async function round() {
  const world = makeWorld(), asked = [];
  world.values = ['web01', 'WEB02', 'Web03', 'db01', 'DB02', 'lga', 'LGA', 'Kim', 'kim']; /* case matters */
  for (const f of FAMILIES) f.prepare?.(world);
  const warm = await start(['--memory', 'tsd.http.query.allow_delete=true', ...world.settings]);
  warm.writes = [];
  warm.recording = true;
  await assign(warm, world);
  await put(warm, world, pointsOf(world));
  for (const f of FAMILIES) await f.load?.(warm, world);
  for (let phase = 3; phase > 0 && Date.now() < until; phase--) {
    warm.recording = false;
    await askSome(world, warm, asked);
    warm.recording = true;
    await happenings(world, [warm]);
  }
  await stop(warm);
}

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
console.log(`${rounds} rounds, ${requests} requests to a warm server and a fresh one, no difference`);

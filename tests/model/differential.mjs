/*
 * Random worlds of series, random queries, and what a plain model answers to them.
 *
 *     node tests/model/differential.mjs HALITE [SECONDS] [pool]
 *
 * Each round asks three servers, which must agree: one in memory with 16 salt buckets; one
 * on disk with another number of them, whose head encodes hours at once, and one on disk
 * without salt, with a head so small that it flushes all the time.  'pool': instead of those on disk, three daemons of one
 * store in a pool of Ceph (tests/rados/), with each request to any of them.  Between the queries things happen to all of them: more points, a range
 * deleted, a name changed; those on disk are stopped or killed, and started again.
 *
 * HALITE_SEED repeats a round, and those after it; a query that fails is made smaller
 * before it is shown.  HALITE_ONLY=name asks one family of queries only.
 */
import path from 'node:path';
import { exp } from './exp.mjs';
import { last, lookup, suggest } from './find.mjs';
import { gexp } from './gexp.mjs';
import { histograms } from './histograms.mjs';
import { notes } from './notes.mjs';
import { counts, plain, show } from './plain.mjs';
import { below, chance, nextRound, pick, seedOfRound } from './random.mjs';
import { happenings, relations } from './relations.mjs';
import { rollups } from './rollups.mjs';
import { ask, dir, Failure, restart, start, startThree, stop } from './servers.mjs';
import { assign, inWords, makeWorld, pointsOf, put, sorted } from './world.mjs';

const until = Date.now() + 1000 * Number(process.argv[3] ?? 20);
const FAMILIES = [plain, exp, gexp, notes, rollups, histograms, last, lookup, suggest];
/* Those that have something to ask, as often as they weigh. */
const draw = world => {
  const fit = FAMILIES.filter(f => !f.fits || f.fits(world)), only = fit.filter(f => f.name === process.env.HALITE_ONLY);
  return pick((only.length ? only : process.env.HALITE_ONLY ? [plain] : fit).flatMap(f => Array(f.weight).fill(f)));
};
/* A head that encodes hours at once, and weeks that are summed up at once. */
const ENCODES = ['halite.store.encode_delay_ms=20', 'halite.store.summary_delay_ms=1'];
const MEMORY = ['--memory', 'tsd.http.query.allow_delete=true'];

const query = (s, world, family, q) => {
  const { method, path, body } = family.request(world, q);
  return ask(s, method, path, body);
};

/* -- a query that fails, made smaller ----------------------------------- */

/* Whether a server of its own, which knows nothing else, fails with this too. */
async function failsAlone(world, family, q) {
  const s = await start([...MEMORY, ...world.settings]);
  try {
    await assign(s, world);
    await put(s, world, world.series.flatMap(x => [...x.points].map(([ts, v]) => ({ x, ts, v }))));
    for (const f of FAMILIES) await f.load?.(s, world);
    return family.compare(world, family.want(world, q), await query(s, world, family, q), q);
  } finally {
    await stop(s, 'SIGKILL');
  }
}
function* smallerWorlds(world) {
  for (const list of ['notes', 'rollups', 'histograms', 'series']) {
    if (list === 'series' && world.notes.some(n => n.x)) return;
    const all = world[list], half = all.length >> 1;
    if (all.length > 2) {
      yield { ...world, [list]: [] };
      yield { ...world, [list]: all.slice(half) };
      yield { ...world, [list]: all.slice(0, half) };
    }
    for (const x of all) yield { ...world, [list]: all.filter(y => y !== x) };
  }
  for (const x of world.series) {
    const all = sorted(x.points), half = all.length >> 1;
    if (half)
      for (const [from, to] of [[0, half], [half, all.length], [1, all.length], [0, all.length - 1]])
        yield { ...world, series: world.series.map(y => y === x ? { ...x, points: new Map(all.slice(from, to).map(p => [p.ts, p.v])) } : y) };
  }
}
/* A wrong status is another failure than wrong numbers. */
const kind = why => /^status \d+, the model says \d+|/.exec(why)[0];

async function shrink(world, family, q) {
  const stopAt = Date.now() + 20000;
  let why = await failsAlone(world, family, q);
  if (!why) return { world, q, why: '' };
  for (let found = true; found && Date.now() < stopAt;) {
    found = false;
    const tries = function* () {
      for (const less of smallerWorlds(world)) yield [less, q];
      for (const less of family.smaller(q)) yield [world, less];
    };
    for (const [lessWorld, less] of tries()) {
      const still = await failsAlone(lessWorld, family, less);
      if (!still || kind(still) !== kind(why)) continue;
      [world, q, why, found] = [lessWorld, less, still, true];
      break;
    }
  }
  return { world, q, why };
}
function print(world, family, q) {
  const { method, path, body } = family.request(world, q);
  console.log(`${family.name}: ${method} ${path} ${body ?? ''}`);
  for (const x of world.series)
    console.log(`  ${world.metrics[x.metric]} ${inWords(world, x.tags)}: ` +
      sorted(x.points).map(p => `${p.ts}=${show(p.v)}`).join(' ').slice(0, 3000));
  for (const f of FAMILIES) f.print?.(world);
}
async function report(world, family, q, s, why) {
  console.log(`server: ${s.words.join(' ')}\n${why}`);
  print(world, family, q);
  const least = await shrink(world, family, q).catch(e => ({ why: '', e }));
  if (least.why) {
    console.log(`\nThe same, smaller, on a server in memory: ${least.why}`);
    print(least.world, family, least.q);
  } else {
    console.log(`\nA server in memory, loaded at once, does not fail with it. ${least.e ?? ''}`);
  }
  throw new Failure(why);
}

/* -- rounds ---------------------------------------------------------------- */

async function askSome(world, servers, n) {
  for (let i = 0; i < n && Date.now() < until; i++) {
    const family = draw(world), q = family.make(world);
    const want = family.want(world, q);
    const got = await Promise.all(servers.map(s => query(s, world, family, q)));
    for (let k = 0; k < servers.length; k++) {
      const why = family.compare(world, want, got[k], q);
      if (why) await report(world, family, q, servers[k], why);
    }
    counts.queries++;
    counts[family.name] = (counts[family.name] ?? 0) + 1;
  }
}
async function load(s, world, points) {
  await assign(s, world);
  const half = points.length >> 1;
  await put(s, world, points.slice(0, half));
  if (!s.words.includes('--memory') && chance(50)) await restart(s, pick(['SIGTERM', 'SIGKILL']));
  await put(s, world, points.slice(half));
  for (const f of FAMILIES) await f.load?.(s, world);
}
async function round(n) {
  const world = makeWorld();
  for (const f of FAMILIES) f.prepare?.(world);
  const disk = k => ['--data', path.join(dir, `${n}-${k}`), 'tsd.http.query.allow_delete=true', ...world.settings];
  const servers = process.argv[4] === 'pool' ? [
    await start([...MEMORY, ...world.settings]),
    await startThree(['tsd.http.query.allow_delete=true', ...pick([['halite.store.seal_delay_ms=1', 'halite.store.summary_delay_ms=1'], ENCODES]), ...world.settings]),
  ] : [
    await start([...MEMORY, ...world.settings]),
    await start([...disk('one'), 'tsd.storage.salt.width=1', `tsd.storage.salt.buckets=${pick([1, 3, 20])}`, ...ENCODES]),
    await start([...disk('none'), 'tsd.storage.salt.width=0', 'halite.store.head_bytes=1M', 'halite.store.seal_delay_ms=1', 'halite.store.summary_delay_ms=1']),
  ];
  for (const s of servers) await load(s, world, pointsOf(world));
  for (let phase = 1 + below(4); phase > 0 && Date.now() < until; phase--) {
    await askSome(world, servers, 20 + below(20));
    await relations(world, servers);
    await happenings(world, servers);
  }
  await askSome(world, servers, 20);
  for (const s of servers) await stop(s);
}

let rounds = 0;
while (Date.now() < until) {
  if (rounds) nextRound();
  else console.log(`seed ${seedOfRound()} (HALITE_SEED=${seedOfRound()} repeats this run)`);
  try {
    await round(rounds++);
  } catch (e) {
    if (!(e instanceof Failure)) console.log(e.stack);
    console.log(`FAILED in round ${rounds}: ${e.message}\nHALITE_SEED=${seedOfRound()} repeats it`);
    process.exit(1);
  }
}
const { queries, points, ...kinds } = counts;
console.log(`${rounds} rounds, ${queries} queries to each server, ${points} points, no difference`);
console.log(Object.entries(kinds).map(([k, v]) => `${k} ${v}`).join(', '));

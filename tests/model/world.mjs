/*
 * A world: names, in the order of their ids, and series with their points.
 *
 *     { metrics, keys, values: [name], series: [{ metric, tags: [[key, value]], points }] }
 *
 * A series names its metric, keys and values by their place, so renaming changes one
 * entry.  'more' holds names beside these, 'notes', 'rollups' and 'histograms' belong to
 * their families.  All families of queries compute from a world alone.
 */
import { below, chance, pick, random64, shuffle } from './random.mjs';
import { Failure, must, say } from './servers.mjs';

const NUMBERS = [
  () => BigInt(below(100)), () => BigInt(below(2000)) - 1000n, () => BigInt.asIntN(62, random64()),
  () => below(20000) / 100 - 100, () => chance(50) ? BigInt(below(50)) : below(500) / 10 + 0.05,
  () => pick([0n, 0n, 1n, -1n, 0.5, -0.5, 0]),
];

export function compareOrder(a, b) {
  for (let i = 0; i < Math.min(a.length, b.length); i++) if (a[i] !== b[i]) return a[i] - b[i];
  return a.length - b.length;
}
const compareSeries = (a, b) => a.metric - b.metric || compareOrder(a.tags.flat(), b.tags.flat());

export function makeWorld() {
  const base = pick([1356998400e3, 1414303200e3, 1711846800e3, 2147480000e3]) + below(3600) * 1000;
  const world = {
    base, step: pick([500, 1000, 10000, 60000, 600000, 7200e3, 21600e3]), series: [], notes: [], rollups: [], histograms: [],
    settings: [], more: { metrics: [], keys: [], values: [] },
    metrics: ['m.one', 'm.two', 'm.three'], keys: ['host', 'dc', 'owner'],
    values: ['web01', 'web02', 'db01', 'db02', 'lga', 'sjc', 'Kim', 'jo', 'x-1'],
  };
  const known = new Set(), count = 1 + below(14), most = pick([2, 9]);
  for (let i = 0; i < count; i++) {
    const tags = [];
    for (let k = 0; k < 3; k++) if (k === 0 || chance(60)) tags.push([k, below(most)]);
    const metric = below(3), id = `${metric} ${tags}`;
    if (known.has(id)) continue;
    known.add(id);
    world.series.push({ metric, tags, points: makePoints(world) });
  }
  world.series.sort(compareSeries);
  return world;
}
function makePoints(world) {
  const points = new Map(), value = pick(NUMBERS), length = 1 + below(60), ragged = chance(50);
  let ts = world.base + below(5) * world.step;
  for (let k = 0; k < length; k++) {
    ts += world.step * (chance(20) ? 1 + below(15) : 1);
    points.set(ts + (ragged && chance(30) ? below(world.step) : 0), value());
  }
  return points;
}

export const sorted = points => [...points].sort((a, b) => a[0] - b[0]).map(([ts, v]) => ({ ts, v }));
export const named = (world, tags) => Object.fromEntries(tags.map(([k, v]) => [world.keys[k], world.values[v]]));
export const inWords = (world, tags) => tags.map(([k, v]) => `${world.keys[k]}=${world.values[v]}`).join(' ');
/* Every name of a world is assigned before its points, so that the ids are known. */
export async function assign(s, world) {
  await must(s, 'POST', '/api/uid/assign', { metric: world.metrics, tagk: world.keys, tagv: world.values });
  if (world.more.metrics.length) await must(s, 'POST', '/api/uid/assign', { metric: world.more.metrics });
}
const uid = i => (i + 1).toString(16).toUpperCase().padStart(6, '0');
export const tsuidOf = x => uid(x.metric) + x.tags.map(([k, v]) => uid(k) + uid(v)).join('');

/* A double with its point or exponent, as Java and we print it. */
export const printed = v => typeof v === 'bigint' ? String(v) : Number.isInteger(v) ? v.toFixed(1) : String(v);
export const stamp = ts => ts % 1000 === 0 && ts / 1000 < 2 ** 32 && chance(70) ? ts / 1000 : ts;

/* All points, shuffled; before them some of the same times with another value, which must
 * lose, for the last write wins; some twice. */
export function pointsOf(world) {
  const early = [], points = [];
  for (const x of world.series) for (const [ts, v] of x.points) {
    points.push({ x, ts, v });
    if (chance(5)) points.push({ x, ts, v });
    if (chance(10)) early.push({ x, ts, v: pick([-7n, 1e30, 0.5]) });
  }
  return [...shuffle(early), ...chance(30) ? points : shuffle(points)];
}
export async function put(s, world, points) {
  for (let at = 0; at < points.length;) {
    const some = points.slice(at, at += 1 + below(200));
    if (chance(50)) {
      const heard = await say(s, some.map(({ x, ts, v }) =>
        `put ${world.metrics[x.metric]} ${stamp(ts)} ${printed(v)} ${inWords(world, shuffle([...x.tags]))}\n`));
      if (heard !== '') throw new Failure(`telnet said ${heard}`);
    } else {
      await must(s, 'POST', '/api/put?details', '[' + some.map(({ x, ts, v }) =>
        `{"metric":"${world.metrics[x.metric]}","timestamp":${stamp(ts)},"value":${printed(v)},"tags":${JSON.stringify(named(world, x.tags))}}`).join(',') + ']');
    }
  }
}
/* More points for some series, some of them at times that have one. */
export function morePoints(world) {
  const points = [];
  for (const x of world.series) {
    if (!chance(50)) continue;
    const more = [...makePoints(world)].slice(0, 20);
    if (x.points.size) for (const [ts] of shuffle([...x.points]).slice(0, 5)) more.push([ts, more[0][1]]);
    for (const [ts, v] of more) {
      x.points.set(ts, v);
      points.push({ x, ts, v });
    }
  }
  return points;
}

/*
 * Relations between answers, which hold whatever a model says, and what happens to the
 * servers between the queries.
 */
import { histograms } from './histograms.mjs';
import { addNote, changeNote, dropNotes } from './notes.mjs';
import { bodyOf, compareGroups, groupsOf, makeDownsample, makeFilter, makePlain, matching, parse } from './plain.mjs';
import { below, chance, pick } from './random.mjs';
import { ask, Failure, must, restart } from './servers.mjs';
import { morePoints, put } from './world.mjs';

const query = (s, world, q) => ask(s, 'POST', '/api/query', bodyOf(world, q));

function relationFails(s, what, world, bodies, why) {
  throw new Failure(`${what}: ${why}\nserver: ${s.words.join(' ')}\n${bodies.join('\n')}`);
}

/* -- a range in two -------------------------------------------------------- */

/* The points of single series do not depend on where a range ends, nor do buckets on its
 * borders.  (Those of groups do: interpolation sees the hours that are read.) */
async function splitRange(world, s) {
  const q = { ...makePlain(world), aggregator: 'none', rate: undefined, ds: undefined };
  let middle = q.start + 1 + below(q.end - q.start);
  if (chance(60)) {
    q.ds = makeDownsample(q.end - q.start + 7200e3, q.zone, ['none'], 0);
    if (q.ds.all) return;
    middle -= middle % q.ds.ms;
  }
  if (middle - 1 <= q.start || middle >= q.end) return;
  const parts = [q, { ...q, end: middle - 1 }, { ...q, start: middle }];
  const got = [];
  for (const p of parts) got.push(await query(s, world, p));
  const bodies = parts.map(p => bodyOf(world, p));
  if (got.some(g => g.status !== got[0].status)) {
    /* An infinity may lie in one of them. */
    if (got.some(g => g.status !== 200 && !g.text.includes('Got Infinity')))
      relationFails(s, 'a range in two', world, bodies, got.map(g => g.status).join());
    return;
  }
  if (got[0].status !== 200) return;
  const [whole, ...halves] = got.map(g => new Map(parse(g.text).map(x => [JSON.stringify(Object.entries(x.tags).sort()), Object.entries(x.dps)])));
  for (const tags of new Set([whole, ...halves].flatMap(m => [...m.keys()]))) {
    const a = whole.get(tags) ?? [], b = halves.flatMap(h => h.get(tags) ?? []);
    const i = a.findIndex(([t, v], k) => t !== b[k]?.[0] || v !== b[k][1] && Number(v) !== Number(b[k][1]));
    if (i >= 0 || a.length !== b.length)
      relationFails(s, 'a range in two', world, bodies, `${tags}: ${a.length} and ${b.length} points, ${a[i]} and ${b[i]}`);
  }
}

/* -- groups and their total ------------------------------------------------ */

const TOTALS = {
  zimsum: v => v.reduce((a, b) => a + b),
  mimmin: v => v.reduce((a, b) => b < a ? b : a),
  mimmax: v => v.reduce((a, b) => b > a ? b : a),
};
async function totalOfGroups(world, s) {
  const q = { ...makePlain(world), aggregator: pick(Object.keys(TOTALS)), rate: undefined, explicit: false };
  if (q.ds) q.ds = { ...q.ds, fill: 'none' };
  q.filters = [makeFilter(world, 0, true), ...chance(50) ? [makeFilter(world, 1, true)] : []];
  const all = { ...q, filters: q.filters.map(f => ({ ...f, groupBy: false })) };
  const [groups, total] = [await query(s, world, q), await query(s, world, all)];
  if (groups.status !== 200 || total.status !== 200) {
    if (groups.status !== total.status && !(groups.text + total.text).includes('Got Infinity'))
      relationFails(s, 'groups and their total', world, [bodyOf(world, q), bodyOf(world, all)], `${groups.status} and ${total.status}`);
    return;
  }
  const parts = new Map(), totals = Object.entries(parse(total.text)[0]?.dps ?? {});
  for (const g of parse(groups.text)) for (const [t, v] of Object.entries(g.dps))
    parts.set(t, [...parts.get(t) ?? [], v]);
  const whole = t => !/[.EN]/.test(t);
  const same = (t, v) => {
    const of = parts.get(t);
    if (!of) return false;
    if ([v, ...of].every(whole)) return BigInt.asIntN(64, TOTALS[q.aggregator](of.map(BigInt))) === BigInt(v);
    /* Integers that wrap in one of them do not in the other. */
    const numbers = of.map(Number), size = numbers.reduce((a, b) => a + Math.abs(b), 0);
    return !(size < 2 ** 50) || Math.abs(TOTALS[q.aggregator](numbers) - Number(v)) <= 1e-9 * size;
  };
  const bad = totals.find(([t, v]) => !same(t, v));
  if (bad || totals.length !== parts.size)
    relationFails(s, 'groups and their total', world, [bodyOf(world, q), bodyOf(world, all)],
      `${bad} of ${totals.length} timestamps; the groups have ${bad && parts.get(bad[0])}, ${parts.size} timestamps`);
}

export async function relations(world, servers) {
  for (let i = 0; i < 4; i++) {
    await splitRange(world, pick(servers));
    await totalOfGroups(world, pick(servers));
  }
}

/* -- what happens ---------------------------------------------------------- */

/* Head and store, before and after: the same, to the letter. */
async function restartAll(world, servers) {
  const bodies = Array.from({ length: 5 }, () => bodyOf(world, makePlain(world)));
  for (const s of servers) {
    if (s.words.includes('--memory')) continue;
    const before = [], signal = pick(['SIGTERM', 'SIGKILL']);
    for (const b of bodies) before.push(await ask(s, 'POST', '/api/query', b));
    await restart(s, signal);
    for (let i = 0; i < bodies.length; i++) {
      const after = await ask(s, 'POST', '/api/query', bodies[i]);
      if (after.text !== before[i].text)
        relationFails(s, `a restart by ${signal}`, world, [bodies[i]], `${before[i].text.slice(0, 2000)}\nbecame\n${after.text.slice(0, 2000)}`);
    }
  }
}
async function putMore(world, servers) {
  const points = morePoints(world);
  for (const s of servers) await put(s, world, points);
}
async function deleteRange(world, servers) {
  const q = { ...makePlain(world), aggregator: 'none', rate: undefined, ds: undefined };
  const times = matching(world, q).flatMap(x => [...x.points.keys()]);
  if (times.length && chance(50)) q.start = pick(times);
  if (times.length && chance(50)) q.end = pick(times);
  if (q.start >= q.end) return;
  for (const s of servers) {
    const a = await ask(s, 'POST', '/api/query', bodyOf(world, q, { delete: true }));
    if (a.status !== 200 && !a.text.includes('No such name')) throw new Failure(`${bodyOf(world, q, { delete: true })} answered ${a.status} ${a.text}`);
    if (a.status !== 200) return;
  }
  for (const x of matching(world, q)) for (const ts of [...x.points.keys()])
    if (ts >= q.start && ts <= q.end) { x.points.delete(ts); x.emptied = true; }
  dropNotes(world, matching(world, q), q);
  const all = { ...q, filters: [], explicit: false, start: world.base - 1, end: world.base + 2000 * world.step };
  for (const s of servers) {
    const why = compareGroups(world, groupsOf(world, all), await query(s, world, all), all);
    if (why) relationFails(s, 'deleted', world, [bodyOf(world, q, { delete: true }), bodyOf(world, all)], why);
  }
}
async function deleteHistograms(world, servers) {
  if (!world.histograms.length) return;
  const q = { ...histograms.make(world), ds: undefined };
  const body = JSON.stringify({ ...JSON.parse(histograms.request(world, q).body), delete: true });
  for (const s of servers) {
    const a = await ask(s, 'POST', '/api/query', body);
    if (a.status !== 200 && !a.text.includes('No such name')) throw new Failure(`${body} answered ${a.status} ${a.text}`);
    if (a.status !== 200) return;
  }
  for (const x of matching({ ...world, series: world.histograms }, q)) for (const ts of [...x.points.keys()])
    if (ts >= q.start && ts <= q.end) x.points.delete(ts);
  /* Notes are of series of points, whose metrics have other names. */
}
let renamed = 0;
async function rename(world, servers) {
  const [type, list] = pick([['metric', 'metrics'], ['tagk', 'keys'], ['tagv', 'values']]);
  const i = below(world[list].length), name = `${pick(['w', 'd', 'l', 'A'])}${renamed++}0${below(3)}`;
  const old = world[list][i], filter = { tagk: world.keys[0], type: 'literal_or', filter: world.values[0], groupBy: false };
  const sub = { aggregator: 'sum', metric: type === 'metric' ? old : world.metrics[0], filters: [
    { ...filter, ...type === 'tagk' && { tagk: old }, ...type === 'tagv' && { filter: old } }] };
  const body = JSON.stringify({ start: world.base, end: world.base + 1000, queries: [sub] });
  for (const s of servers) {
    await must(s, 'POST', '/api/query', body);
    await must(s, 'POST', '/api/uid/rename', { [type]: old, name });
    await must(s, 'POST', '/api/query', body, [400]); /* the old name is none */
  }
  world[list][i] = name;
}

const HAPPENINGS = [restartAll, restartAll, putMore, deleteRange, deleteHistograms, rename, addNote, changeNote];

export async function happenings(world, servers) {
  for (let n = 1 + below(2); n > 0; n--) await pick(HAPPENINGS)(world, servers);
}

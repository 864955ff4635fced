/* Annotations beside points. */
import { bodyOf, compareGroups, groupsOf, makePlain, noteMs as ms, smaller } from './plain.mjs';
import { below, chance, pick } from './random.mjs';
import { must } from './servers.mjs';
import { tsuidOf } from './world.mjs';

const hour = t => Math.floor(ms(t) / 36e5) * 3600;

/* Most notes lie in hours in which their series has points. */
function makeNote(world) {
  const x = chance(75) ? pick(world.series) : undefined;
  if (x && x.points.size === 0) return undefined;
  const near = x && chance(75) ? pick([...x.points.keys()]) : world.base + below(world.step * 80);
  const top = Math.floor(near / 36e5) * 36e5, at = chance(50) ? near : top + below(36e5);
  const start = chance(70) ? Math.floor(at / 1000) : at % 1000 === 0 ? at / 1000 : at;
  if (world.notes.some(n => n.x === x && n.start === start)) return undefined;
  const note = { x, start, text: `note ${world.notes.length + 1}` };
  world.notes.push(note);
  return note;
}
function prepare(world) {
  if (chance(65) && process.env.HALITE_ONLY !== 'notes') return;
  for (let i = below(12); i > 0; i--) makeNote(world);
}
const bodyOfNote = n => ({ startTime: n.start, tsuid: n.x ? tsuidOf(n.x) : undefined, description: n.text });

/* Where there are notes already. */
export async function addNote(world, servers) {
  const note = world.notes.length ? makeNote(world) : undefined;
  if (note) for (const s of servers) await must(s, 'POST', '/api/annotation', bodyOfNote(note));
}
export async function changeNote(world, servers) {
  if (world.notes.length < 2) return;
  const note = pick(world.notes), gone = chance(50), method = pick(['POST', 'PUT']);
  note.text += '!';
  if (gone) world.notes = world.notes.filter(n => n !== note);
  for (const s of servers) {
    await must(s, gone ? 'DELETE' : method, '/api/annotation', bodyOfNote(note)); /* parameters are cut to seconds */
  }
}
async function load(s, world) {
  for (const n of world.notes)
    await must(s, 'POST', '/api/annotation', bodyOfNote(n));
}
function make(world) {
  return { ...makePlain(world), explicit: false, flags: { globalAnnotations: chance(50), noAnnotations: chance(15) } };
}
/* A deletion takes those of its series that begin in its range, not those for all. */
export function dropNotes(world, series, q) {
  world.notes = world.notes.filter(n => !n.x || !series.includes(n.x) || ms(n.start) < q.start || ms(n.start) > q.end);
}
const inOrder = notes => notes.sort((a, b) => ms(a.start) - ms(b.start) || (a.text < b.text ? -1 : 1));

function want(world, q) {
  const r = groupsOf(world, q);
  if (r.error !== undefined) return r;
  const within = n => ms(n.start) >= q.start && ms(n.start) <= q.end;
  for (const g of r.groups) {
    const read = world.notes.filter(n => g.noted.includes(n.x) && hour(n.start) >= r.hours.from && hour(n.start) <= r.hours.to);
    g.notes = read.length ? inOrder(read.filter(within)) : undefined;
  }
  return { ...r, globals: inOrder(world.notes.filter(n => !n.x && within(n))) };
}
function compareNotes(what, notes, list) {
  if ((notes === undefined) !== (list === undefined)) return `${what} ${JSON.stringify(list)}, the model has ${JSON.stringify(notes)}`;
  if (notes === undefined) return '';
  const got = inOrder(list.map(a => ({ start: a.startTime, text: a.description, tsuid: a.tsuid })));
  const all = notes.map(n => ({ start: n.start, text: n.text, tsuid: n.x ? tsuidOf(n.x) : '' }));
  return JSON.stringify(got) === JSON.stringify(all) ? '' : `${what} ${JSON.stringify(got)}, the model has ${JSON.stringify(all)}`;
}
function compare(world, w, got, q) {
  const why = compareGroups(world, w, got);
  if (why || w.error !== undefined) return why;
  const groups = JSON.parse(got.text.replace(/:NaN/g, ':null'));
  for (let i = 0; i < groups.length; i++) {
    const none = q.flags.noAnnotations, globals = !none && q.flags.globalAnnotations && w.globals.length ? w.globals : undefined;
    /* An empty list of those for all says no more than its absence. */
    const got = groups[i].globalAnnotations?.length ? groups[i].globalAnnotations : undefined;
    const bad = compareNotes(`group ${i}: annotations`, none ? undefined : w.groups[i].notes, groups[i].annotations) ||
      compareNotes(`group ${i}: globalAnnotations`, globals, got);
    if (bad) return bad;
  }
  return '';
}

export const notes = {
  name: 'notes', weight: 2, fits: world => world.notes.length > 0, prepare, load, make, want, compare, smaller,
  request: (world, q) => ({ method: 'POST', path: '/api/query', body: bodyOf(world, q, q.flags) }),
  print: world => world.notes.forEach(n => console.log(`  note ${n.x ? tsuidOf(n.x) : 'for all'} ${n.start} "${n.text}"`)),
};

// How cost grows with size: with the number of series, with the WAL that a
// killed server left, with the size of a store that is opened.
import {
  bin, median, pipe, run, say, settings,
} from './tools.mjs';
import { load } from './ingest.mjs';
import { ask } from './queries.mjs';
import { Server } from './servers.mjs';
import { differs, files, flags, scales, start } from './workload.mjs';

const upto = (sizes, most) => sizes.filter(n => n <= most);

// The middle of some times that it takes to answer one request.
async function answer_ms(s, request, times = 9) {
  return median((await ask(s, Array(times).fill(request), 1)).ms);
}
const get = path => ['GET', path];

const host = n => encodeURIComponent(`{host=host_${n}}`);
const one_host = hosts => get(`/api/query?start=${start}&end=${start + 3600}` +
  `&m=max:1m-max:cpu.usage_user${host(hosts >> 1)}`);
const whole_metric = get(`/api/query?start=${start}&end=${start + 3600}` +
  '&m=sum:1m-avg:cpu.usage_user');
const suggest = hosts => get(`/api/suggest?type=tagv&max=25&q=host_${
  String(hosts >> 1).slice(0, -1)}`);
const lookup = hosts => get('/api/search/lookup?limit=25&m=' +
  `cpu.usage_user${host(hosts >> 1)}`);

// New series, then a second point of each; what they take, and what looking
// for one of them takes, which should not grow.
async function grow_series(size, report) {
  const hosts = size / 10, w = { ...scales.A, hosts };
  const s = new Server('halite');
  await s.start();
  const before = { cpu: s.cpu(), memory: s.memory().now };
  const step = async from => {
    const loaded = await files({ ...w, start: from, end: from + 10 },
      'telnet', 1);
    const cpu = s.cpu();
    await load(s, 'telnet', loaded);
    loaded.remove();
    return (s.cpu() - cpu) / size * 1e6;
  };
  const row = { size, new_us: await step(start) };
  row.bytes_memory = (s.memory().now - before.memory) / size;
  row.known_us = await step(start + 10);
  row.peak_mb = s.memory().peak / 2 ** 20;
  const u = await s.stop();
  row.bytes_disk = u.disk_bytes / size;
  row.open_ms = await s.start({ fresh: false }) * 1e3;
  row.query_ms = await answer_ms(s, one_host(hosts));
  row.whole_ms = await answer_ms(s, whole_metric);
  row.whole_us = row.whole_ms / hosts * 1e3; // of each of its series
  row.suggest_ms = await answer_ms(s, suggest(hosts));
  row.lookup_ms = await answer_ms(s, lookup(hosts));
  await s.stop();
  s.remove();
  say(`  ${size} series: new ${row.new_us.toFixed(2)} us, ` +
    `${row.bytes_memory.toFixed(0)} B; suggest ${row.suggest_ms.toFixed(2)}`);
  report(row);
}

// Killed with all points in the WAL only; started again.
async function replay_wal(points, report) {
  const w = { ...scales.A, end: start + points / 1000 * 10 };
  const options = ['halite.store.journal_bytes=16G',
    'halite.store.head_bytes=4G', 'halite.store.seal_delay_ms=86400000'];
  const s = new Server('halite'), loaded = await files(w, 'telnet', 1);
  await s.start({ options });
  await load(s, 'telnet', loaded);
  const { disk_bytes } = await s.stop('SIGKILL');
  const seconds = await s.start({ fresh: false, options });
  const cpu = s.cpu(), peak = s.memory().peak;
  const wrong = await differs(s, w, loaded);
  if (wrong)
    throw new Error(`after a replay ${wrong}`);
  await s.stop();
  s.remove();
  loaded.remove();
  say(`  WAL of ${points} points: ${seconds.toFixed(2)} s`);
  report({
    size: points, open_ms: seconds * 1e3, cpu_ms: cpu * 1e3,
    journal_mb: disk_bytes / 1e6, peak_mb: peak / 2 ** 20,
  });
}

// A store of so many points, stopped; opened from the disk, and again.
async function open_store(points, report) {
  const w = { ...scales.A, end: start + points / 1000 * 10 };
  const s = new Server('halite');
  await s.start();
  const loaded = JSON.parse(await pipe([bin('generate'), ...flags(w)],
    [bin('load'), s.put_port, 'telnet', '-']));
  const u = await s.stop();
  await s.forget();
  const cold = await s.start({ fresh: false });
  const first = (await ask(s, [one_host(100)], 1)).ms[0];
  await s.stop();
  const warm = await s.start({ fresh: false });
  const row = {
    size: points, open_ms: cold * 1e3, again_ms: warm * 1e3,
    first_ms: first, query_ms: await answer_ms(s, one_host(100)),
    memory_mb: s.memory().now / 2 ** 20, disk_mb: u.disk_bytes / 1e6,
    cpu_us: u.cpu / points * 1e6, points_s: points / loaded.seconds,
  };
  await s.stop();
  s.remove();
  say(`  a store of ${points} points opens in ${row.open_ms.toFixed(0)} ms`);
  report(row);
}

export async function series(systems, report) {
  for (const n of upto([1e3, 1e4, 1e5, 1e6], settings.series))
    await grow_series(n, report);
}

export async function replay(systems, report) {
  for (const n of upto([1e6, 2e6, 5e6, 10e6, 20e6], settings.points))
    await replay_wal(n, report);
}

export async function open(systems, report) {
  for (const n of upto([1e6, 3e6, 10e6, 100e6], settings.points))
    await open_store(n, report);
}

// Chunks of the program in loops: see bench/micro.h.
export async function micro(systems, report) {
  for (const line of (await run(bin('micro'), [])).trim().split('\n'))
    report(JSON.parse(line));
}

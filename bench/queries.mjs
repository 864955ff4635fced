// How long queries take: the mix, warm with one and four at a time, and the
// first time after a start with nothing in the page cache; some also while the
// rows are open, as those of the last hour are.
import fs from 'node:fs';
import {
  bin, median, now, quantile, random, remove, run, say, scratch, settings,
} from './tools.mjs';
import { load } from './ingest.mjs';
import { differ, normal, queries as mix, request } from './mix.mjs';
import { Server } from './servers.mjs';
import { differs, files, mixed, scales } from './workload.mjs';

export const MOST = 200; // queries of a kind

// Asks them all, so many at a time.
export async function ask(s, requests, workers) {
  const file = scratch('requests');
  fs.writeFileSync(file, requests.map(r => r.join('\t') + '\n').join(''));
  const cpu = s.cpu();
  if (s.time) {
    const from = now(), ms = await s.time(s, requests);
    return {
      ms, bytes: NaN, wall: now() - from,
      cpu_ms: (s.cpu() - cpu) / ms.length * 1e3,
    };
  }
  const lines = (await run(bin('ask'), [s.web_port, workers, file]))
    .trim().split('\n').map(l => l.split(' '));
  remove(file);
  const wall = +lines.pop()[1];
  const bad = lines.find(l => l[1] !== '200' && l[1] !== '204');
  if (bad)
    throw new Error(`${s.kind} answers ${bad[1]}`);
  return {
    ms: lines.map(l => +l[0]),
    bytes: lines.reduce((a, l) => a + +l[2], 0) / lines.length,
    wall,
    cpu_ms: (s.cpu() - cpu) / lines.length * 1e3,
  };
}

// The answers of all systems to one query are the same.
export async function verify(servers, q) {
  let first;
  for (const s of servers) {
    const r = await s.ask(request(s.kind, q));
    if (r.status !== 200)
      throw new Error(`${s.kind} answers ${r.status}: ` +
        r.body.slice(0, 300));
    const got = { kind: s.kind, map: normal(s.kind, q, r.body) };
    if (first) {
      const why = differ(first.map, got.map);
      if (why)
        return `${first.kind} and ${s.kind}: ${why}`;
    } else if (got.map.size === 0) {
      return `${s.kind} finds nothing`;
    }
    first ??= got;
  }
  return '';
}

export async function warm(s, list, workers) {
  const one = await ask(s, [request(s.kind, list[0])], 1);
  const n = Math.max(3, Math.min(list.length,
    Math.floor(settings.budget_s * 1e3 * workers / one.ms[0])));
  const r = await ask(s, list.slice(0, n).map(q => request(s.kind, q)),
    workers);
  return {
    n, p50_ms: median(r.ms), p99_ms: quantile(r.ms, 0.99), qps: n / r.wall,
    cpu_ms: r.cpu_ms, bytes: r.bytes,
  };
}

async function cold(s, q) {
  if (s.in_memory)
    return { first_ms: NaN };
  await s.stop();
  await s.forget();
  await s.start({ fresh: false });
  return { first_ms: (await ask(s, [request(s.kind, q)], 1)).ms[0] };
}

async function measure_kind(all, name, list, key, report, stopped) {
  const servers = all.filter(s => request(s.kind, list[0]) !== null);
  for (const q of list.slice(0, 2).filter(x => !x.ping)) {
    const why = await verify(servers, q);
    if (why)
      throw new Error(`${name}: the answers differ: ${why}`);
  }
  // In turns, so that what else the machine does affects all systems alike; and
  // in both orders, because the first of a turn finds cold caches.
  const rows = new Map(servers.map(s => [s, { 1: [], 4: [] }]));
  for (let i = 0; i < settings.runs; i++)
    for (const workers of [1, 4])
      for (const [s, of] of i % 2 ? [...rows].reverse() : rows)
        if (workers === 1 || !s.time) // by its own clock: one at a time
          of[workers].push(await warm(s, list, workers));
  for (const s of servers) {
    const [one, four] = [1, 4].map(n => rows.get(s)[n]).map(r => ({
      p50_ms: median(r.map(x => x.p50_ms)),
      p99_ms: median(r.map(x => x.p99_ms)),
      qps: median(r.map(x => x.qps)),
      cpu_ms: median(r.map(x => x.cpu_ms)),
      bytes: r[0]?.bytes, n: r[0]?.n,
    }));
    const first = stopped ? await cold(s, list[list.length - 1])
      : { first_ms: NaN };
    say(`  ${name}, ${s.kind}: ${one.p50_ms.toFixed(2)} ms, ` +
      `CPU ${one.cpu_ms.toFixed(2)} ms, first ${first.first_ms.toFixed(1)}`);
    report({
      ...key, query: name, system: s.kind, ...one, ...first,
      p50_4: four.p50_ms, p99_4: four.p99_ms, qps_4: four.qps,
      cpu_ms_4: four.cpu_ms,
    });
  }
}

// A server that has the points of all workloads, in rows that are open.
async function filled(kind, workloads) {
  const s = new Server(kind);
  await s.start({ options: s.keep_open });
  for (const { loaded } of workloads)
    await (s.take?.(s, loaded) ?? load(s, 'telnet', loaded));
  // What it still merges would cost the others their time.
  await s.idle(120);
  await s.settle?.(s);
  for (const { w, loaded } of s.take ? [] : workloads) {
    const wrong = await differs(s, w, loaded);
    if (wrong)
      throw new Error(`${kind}: ${wrong}`);
  }
  return s;
}

// What dashboards ask of the newest hour.
const of_open_rows = name => name.startsWith('newest-') ||
  ['double-groupby-1', 'sum-all-hosts-1h', 'groupby-dc-1h',
    'p95-all-hosts-1h'].includes(name);

export async function queries(systems, report) {
  for (const scale of settings.scales) {
    const workloads = [scales[scale], mixed(scales[scale])].map(w => ({ w }));
    const servers = [], { w } = workloads[0];
    say(`queries, scale ${scale}: loading`);
    for (const one of workloads)
      one.loaded = await files(one.w, 'telnet', 1);
    for (const kind of systems)
      servers.push(await filled(kind, workloads));
    for (const { loaded } of workloads)
      loaded.remove();
    const all = mix(w, random(settings.seed));
    const wanted = Object.entries(all).filter(([name]) =>
      settings.queries.length === 0 || settings.queries.includes(name))
      .map(([name, make]) => [name, Array.from({ length: MOST }, make)]);
    if (w.end - w.start <= 3600)
      for (const [name, list] of wanted.filter(([x]) => of_open_rows(x)))
        await measure_kind(servers, `${name}, open`, list, { scale }, report,
          false);
    for (const s of servers.filter(x => !x.in_memory)) {
      await s.stop(); // now all are asked of what is flushed
      await s.start({ fresh: false });
    }
    for (const [name, list] of wanted)
      await measure_kind(servers, name, list, { scale }, report, true);
    for (const s of servers) {
      await s.stop();
      s.remove();
    }
  }
}

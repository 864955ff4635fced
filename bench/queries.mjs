// How long queries take: the mix, warm with one and four at a time, and the
// first time after a start with nothing in the page cache.
import fs from 'node:fs';
import {
  bin, quantile, random, remove, run, say, scratch, settings, median,
} from './tools.mjs';
import { measure } from './ingest.mjs';
import { differ, normal, queries as mix, request } from './mix.mjs';
import { files, scales } from './workload.mjs';

export const MOST = 200; // queries of a kind

// Asks them all, so many at a time.
export async function ask(s, requests, workers) {
  const file = scratch('requests');
  fs.writeFileSync(file, requests.map(r => r.join('\t') + '\n').join(''));
  const cpu = s.cpu();
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
async function verify(servers, q) {
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
  await s.stop();
  await s.forget();
  await s.start({ fresh: false });
  return { first_ms: (await ask(s, [request(s.kind, q)], 1)).ms[0] };
}

async function measure_kind(servers, name, list, key, report) {
  for (const q of list.slice(0, 2).filter(x => !x.ping)) {
    const why = await verify(servers, q);
    if (why)
      throw new Error(`${name}: the answers differ: ${why}`);
  }
  // In turns: what else the machine does meets all systems alike.
  const rows = new Map(servers.map(s => [s, { 1: [], 4: [] }]));
  for (let i = 0; i < settings.runs; i++)
    for (const workers of [1, 4])
      for (const [s, of] of rows)
        of[workers].push(await warm(s, list, workers));
  for (const s of servers) {
    const [one, four] = [1, 4].map(n => rows.get(s)[n]).map(r => ({
      p50_ms: median(r.map(x => x.p50_ms)),
      p99_ms: median(r.map(x => x.p99_ms)),
      qps: median(r.map(x => x.qps)),
      cpu_ms: median(r.map(x => x.cpu_ms)),
      bytes: r[0].bytes, n: r[0].n,
    }));
    const first = await cold(s, list[list.length - 1]);
    say(`  ${name}, ${s.kind}: ${one.p50_ms.toFixed(2)} ms, ` +
      `CPU ${one.cpu_ms.toFixed(2)} ms, first ${first.first_ms.toFixed(1)}`);
    report({
      ...key, query: name, system: s.kind, ...one, ...first,
      p50_4: four.p50_ms, p99_4: four.p99_ms, qps_4: four.qps,
      cpu_ms_4: four.cpu_ms,
    });
  }
}

export async function queries(systems, report) {
  for (const scale of settings.scales) {
    const w = scales[scale], servers = [];
    say(`queries, scale ${scale}: loading`);
    const loaded = await files(w, 'telnet', 1);
    for (const kind of systems)
      servers.push((await measure(kind, w, 'telnet', loaded, true)).server);
    loaded.remove();
    // What one of them still merges would cost the other its time.
    for (const s of servers) {
      await s.idle(120);
      await s.stop(); // all are asked of what is flushed, not of open rows
      await s.start({ fresh: false });
    }
    const all = mix(w, random(settings.seed));
    const wanted = Object.entries(all).filter(([name]) =>
      settings.queries.length === 0 || settings.queries.includes(name));
    for (const [name, make] of wanted)
      await measure_kind(servers, name, Array.from({ length: MOST }, make),
        { scale }, report);
    for (const s of servers) {
      await s.stop();
      s.remove();
    }
  }
}

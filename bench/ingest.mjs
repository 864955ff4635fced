// What it costs to take points: at what speed, with how much CPU, memory and
// disk; and how soon they are seen.
import path from 'node:path';
import {
  bin, medians, now, run, say, settings, sleep,
} from './tools.mjs';
import { Server } from './servers.mjs';
import {
  count_at, differs, files, metrics, recording, scales,
} from './workload.mjs';

// VictoriaMetrics has a port for telnet and one for HTTP.
const port = (s, protocol) => protocol === 'http' && s.kind === 'vm'
  ? s.more_port : s.put_port;

// Seconds until a query sees the newest points.
async function seen(s, w, loaded) {
  if (w.jitter_ms || w.gap_permille || w.order || w.recorded)
    return NaN;
  const from = now();
  while (now() - from < 60) {
    if (await count_at(s, metrics[0], loaded.last).catch(() => 0) === w.hosts)
      return now() - from;
    await sleep(2);
  }
  throw new Error(`${s.kind}: the last points are not seen within a minute`);
}

export async function load(s, protocol, loaded) {
  const out = JSON.parse(await run(bin('load'),
    [port(s, protocol), protocol, ...loaded.paths]));
  if (out.rejected > 0)
    throw new Error(`${s.kind} rejected ${out.rejected} of ${loaded.points}`);
  return out;
}

// A fresh server that takes the files, checked and stopped (but for 'keep').
export async function measure(kind, w, protocol, loaded, keep = false) {
  const s = new Server(kind);
  await s.start();
  const cpu = s.cpu();
  const l = await load(s, protocol, loaded);
  const sent = s.cpu() - cpu;
  const lag = await seen(s, w, loaded);
  await s.idle();
  await s.settle?.(s);
  const idle = s.cpu() - cpu, peak = s.memory().peak;
  const wrong = await differs(s, w, loaded);
  if (wrong) {
    await s.stop('SIGKILL');
    throw new Error(`${kind}: ${wrong}`);
  }
  const checked = s.cpu() - cpu - idle;
  if (keep)
    return { server: s };
  const u = await s.stop();
  s.remove();
  return {
    points: loaded.points,
    points_s: loaded.points / l.seconds,
    cpu_sent_us: sent / loaded.points * 1e6,
    // All its life, but for the start and our check of its answers.
    cpu_us: (u.cpu - cpu - checked) / loaded.points * 1e6,
    lag_s: lag,
    peak_mb: peak / 2 ** 20,
    bytes_point: u.disk_bytes / loaded.points,
    amplification: u.written_bytes / u.disk_bytes,
    p50_ms: l.p50_ms,
    p99_ms: l.p99_ms,
  };
}

async function turns(systems, w, protocol, connections, key, report) {
  const loaded = w.recorded ? recording(w) : await files(w,
    protocol === 'http' ? 'json' : 'telnet', connections);
  const rows = new Map(systems.map(k => [k, []]));
  for (let i = 0; i < settings.runs; i++)
    for (const kind of rows.keys())
      try {
        const row = await measure(kind, w, protocol, loaded);
        rows.get(kind).push(row);
        say(`  ${kind}: ${(row.points_s / 1e6).toFixed(2)} M points/s, ` +
          `${row.cpu_us.toFixed(2)} us, ${row.bytes_point.toFixed(2)} B`);
      } catch (e) {
        // Another system's trouble is no reason to know less of ours.
        if (kind === 'halite')
          throw e;
        say(`  left out: ${e.message}`);
        rows.delete(kind);
      }
  loaded.remove();
  for (const [kind, r] of rows)
    report({ ...key, system: kind, ...medians(r) });
}

export async function ingest(systems, report) {
  for (const scale of settings.scales)
    for (const mode of settings.modes) {
      const protocol = mode.slice(0, -1), connections = +mode.slice(-1);
      say(`ingest, scale ${scale}, ${mode}`);
      await turns(systems, scales[scale], protocol, connections,
        { scale, mode }, report);
    }
}

// Other values, other orders, over one connection.  (VictoriaMetrics takes
// milliseconds over HTTP only.)
const kinds = {
  'whole numbers': {},
  'two decimals': { values: 'float' },
  counters: { values: 'counter' },
  'two decimals, every tenth missing': { values: 'float', gap_permille: 100 },
  'whole, late by up to 3 s': { jitter_ms: 3000 },
};
export async function values(systems, report) {
  for (const [kind, more] of Object.entries(kinds)) {
    const protocol = more.jitter_ms ? 'http' : 'telnet';
    say(`values: ${kind}`);
    await turns(systems, { ...scales.A, ...more }, protocol, 1,
      { values: kind, mode: protocol + '1' }, report);
  }
}

const year = { hosts: 10, metrics: 1, step: 60 };
const orders = {
  'a year of one host, then the next': {
    ...scales.A, ...year, end: scales.A.start + 365 * 86400, order: 'host',
  },
  'half a day of 1,000 series, shuffled': {
    ...scales.A, step: 30, order: 'shuffled',
  },
};
export async function backfill(systems, report) {
  for (const [order, w] of Object.entries(orders)) {
    say(`backfill: ${order}`);
    await turns(systems, w, 'telnet', 1, { order }, report);
  }
}

// What agents sent, byte for byte: the data that no generator of ours made.
export async function recorded(systems, report) {
  for (const file of settings.recorded) {
    say(`recorded: ${file}`);
    const w = { recorded: file }, { points, series } = recording(w);
    await turns(systems, w, 'telnet', 1,
      { recording: path.parse(file).name, points, series }, report);
  }
}

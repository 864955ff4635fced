// Masks over row keys: 100,000 series of one metric, whose filtered tag is the
// first, the middle or the last of the key, read by every way there is.
import fs from 'node:fs';
import { median, remove, say, scratch } from './tools.mjs';
import { load } from './ingest.mjs';
import { ask } from './queries.mjs';
import { Server } from './servers.mjs';
import { start } from './workload.mjs';

const SERIES = 100000, HOURS = 4;
const places = ['first', 'middle', 'last'];

// Each value of each tag has a hundredth of the series, spread evenly.  Ids are
// given in the order in which names come, and keys hold tags in the order of
// their ids.
function write_lines(file) {
  const out = places.map(p => `put mask.names ${start} 1 ${p}=v0\n`);
  for (let h = 0; h < HOURS; h++)
    for (let i = 0; i < SERIES; i++) {
      const first = i % 100, middle = Math.floor(i / 100) % 100;
      const last = Math.floor(i / 10000) * 10 + (3 * first + middle) % 10;
      out.push(`put mask.rows ${start + h * 3600 + i % 3600} ${i % 1000} ` +
        `first=v${first} middle=v${middle} last=v${last}\n`);
    }
  fs.writeFileSync(file, out.join(''));
  return out.length;
}

// Filters by the percentage of series that they take.
const shares = {
  1: () => ({ type: 'literal_or', filter: 'v7' }),
  10: () => ({
    type: 'literal_or',
    filter: Array.from({ length: 10 }, (_, i) => `v${i * 10 + 7}`).join('|'),
  }),
  100: () => ({ type: 'wildcard', filter: '*' }),
};
const request = filters => ['POST', '/api/query', 'application/json',
  JSON.stringify({
    start, end: start + HOURS * 3600 - 1, showStats: true,
    queries: [{
      aggregator: 'sum', metric: 'mask.rows', downsample: '1h-sum', filters,
    }],
  })];

async function one(s, filters, row, report, answers) {
  const r = request(filters.map(f => ({ groupBy: false, ...f })));
  const answer = await s.json(r), { stats } = answer[0];
  const key = `${row.place} ${row.share}`, text = JSON.stringify(answer[0].dps);
  if ((answers[key] ??= text) !== text)
    throw new Error(`${key}: another answer by way of ${row.way}`);
  const times = await ask(s, Array(7).fill(r), 1);
  report({
    ...row, rows: stats.rowsFromStorage, keys: stats.keysFromStorage,
    seeks: stats.seeks, series: stats.series, scan_ms: stats.queryScanTime,
    plan_ms: stats.planTime, chose: stats.plan.split(';')[0],
    p50_ms: median(times.ms), cpu_ms: times.cpu_ms,
  });
}

export async function masks(systems, report) {
  const file = scratch('masks.telnet'), s = new Server('halite');
  const points = write_lines(file), answers = {};
  await s.start();
  await load(s, 'telnet', { paths: [file], points });
  await s.stop();
  remove(file);
  for (const way of ['auto', 'range', 'hints', 'seeks']) {
    say(`masks: ${way}`);
    await s.start({ fresh: false, options: [`halite.query.scan=${way}`] });
    for (const place of places)
      for (const [share, filter] of Object.entries(shares))
        await one(s, [{ tagk: place, ...filter() }],
          { place, share: +share, way }, report, answers);
    await one(s, places.map((tagk, i) => ({
      tagk, type: 'literal_or', filter: ['v7', 'v3', 'v4'][i],
    })), { place: 'all three', share: 0.001, way }, report, answers);
    await s.stop();
  }
  s.remove();
}

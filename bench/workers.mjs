// What a second processor is worth: the same queries by four clients at once,
// of a server that has one thread for them, and of one that has four.
import { median, random, say, settings } from './tools.mjs';
import { measure } from './ingest.mjs';
import { queries } from './mix.mjs';
import { MOST, warm } from './queries.mjs';
import { files, scales } from './workload.mjs';

const CLIENTS = 4;
const threads = n => [`halite.http.workers=${n}`, `halite.query.threads=${n}`];

export async function workers(systems, report) {
  for (const scale of settings.scales) {
    const w = scales[scale], rates = {};
    say(`workers, scale ${scale}: loading`);
    const loaded = await files(w, 'telnet', 1);
    const s = (await measure('halite', w, 'telnet', loaded, true)).server;
    loaded.remove();
    await s.idle(120);
    await s.stop();
    const all = queries(w, random(settings.seed));
    const wanted = Object.entries(all).filter(([name]) => name !== 'ping' &&
      (settings.queries.length === 0 || settings.queries.includes(name)));
    const lists = Object.fromEntries(wanted.map(([name, make]) =>
      [name, Array.from({ length: MOST }, make)]));
    // By turns, so that what else the machine does is shared.
    for (let i = 0; i < Math.max(3, settings.runs); i++)
      for (const n of [1, 4]) {
        await s.start({ fresh: false, options: threads(n) });
        for (const [name, list] of Object.entries(lists))
          ((rates[name] ??= { 1: [], 4: [] })[n])
            .push((await warm(s, list, CLIENTS)).qps);
        await s.stop();
      }
    for (const [name, r] of Object.entries(rates)) {
      const row = {
        scale, query: name, qps_1: median(r[1]), qps_4: median(r[4]),
      };
      say(`  ${name}: ${row.qps_1.toFixed(1)} and ${row.qps_4.toFixed(1)} ` +
        'answers a second');
      report({ ...row, times: row.qps_4 / row.qps_1 });
    }
    s.remove();
  }
}

// make bench: measures what it is asked to, keeps the figures beside the
// document, and writes the document's tables from all that were ever kept.
import { backfill, ingest, recorded, values } from './ingest.mjs';
import { micro, open, replay, series } from './growth.mjs';
import { Comparison } from './compare.mjs';
import { masks } from './masks.mjs';
import { draw_all } from './plots.mjs';
import { queries } from './queries.mjs';
import { Results } from './results.mjs';
import { write_document } from './report.mjs';
import { installed } from './servers.mjs';
import { machine, remove, say, scratch, settings } from './tools.mjs';
import { workers } from './workers.mjs';
import { years } from './years.mjs';

const sections = {
  ingest, values, backfill, recorded, queries, workers, years, series, replay,
  open, masks, micro,
};

const wanted = settings.only.length > 0 ? settings.only
  : Object.keys(sections);
const systems = settings.systems.filter(installed);
say(`halite bench: ${wanted.join(', ')}; systems: ${systems.join(', ')}`);
const here = machine();
const compared = systems.includes('old') ? new Comparison() : null;
let failed = 0;
for (const name of wanted) {
  if (name === 'report')
    continue;
  if (!sections[name]) {
    say(`there is no part "${name}": ${Object.keys(sections)} or report`);
    process.exit(2);
  }
  const results = compared?.part(name) ?? new Results(name);
  try {
    await sections[name](systems, row => results.add(row, here));
  } catch (e) {
    say(`${name}: ${e.message}`);
    failed++;
  }
}
if (compared) {
  compared.print();
} else {
  write_document();
  draw_all();
}
if (failed === 0)
  remove(scratch('.'));
process.exit(failed > 0 ? 1 : 0);

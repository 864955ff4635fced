// A Halite beside an older one: what each figure of "halite" is to the same
// figure of "old", and the geometric mean of all queries.  Printed, never kept:
// docs/performance/ holds figures of systems, not of changes.
import { digits, table } from './report.mjs';

// What is compared of a row, by part.
const figures = {
  ingest: ['cpu_sent_us', 'cpu_us', 'bytes_point', 'amplification', 'peak_mb'],
  queries: ['p50_ms', 'cpu_ms', 'cpu_ms_4'],
  years: ['ms', 'cpu_ms', 'bytes_point', 'cpu_us'],
};
figures.values = figures.backfill = figures.recorded = figures.ingest;

const geomean = values => Math.exp(values.reduce((a, v) => a + Math.log(v), 0) /
  values.length);

export class Comparison {
  #parts = [];

  // Takes the rows of a part, in the place of Results.
  part(name) {
    const rows = [];
    this.#parts.push({ name, rows });
    return { add: row => rows.push(row) };
  }

  print() {
    for (const { name, rows } of this.#parts) {
      const lines = this.#lines(name, rows);
      console.log(`\n${name}\n\n` +
        table(['what', 'figure', 'old', 'new', 'new/old'], lines));
      if (name === 'queries')
        this.#mean(lines);
    }
  }

  #lines(name, rows) {
    const label = r => [r.scale, r.mode, r.values, r.order, r.recording, r.query]
      .filter(x => x).join(' ');
    const old = new Map(rows.filter(r => r.system === 'old')
      .map(r => [label(r), r]));
    return rows.filter(r => r.system === 'halite' && old.has(label(r)))
      .flatMap(r => (figures[name] ?? []).filter(key => key in r).map(key => {
        const before = old.get(label(r))[key];
        return [label(r), key, digits(before), digits(r[key]),
          (r[key] / before).toFixed(3)];
      }));
  }

  // A ping is no query.
  #mean(lines) {
    for (const key of figures.queries) {
      const ratios = lines.filter(l => l[1] === key && !l[0].endsWith('ping'))
        .map(l => +l[4]).filter(x => x > 0);
      console.log(`geometric mean of ${ratios.length} queries, ${key}: ` +
        geomean(ratios).toFixed(3));
    }
  }
}

// Figures in docs/performance/NAME.json, one row a line.  A new row takes the
// place of the old one of the same key; so parts can be measured again.
import fs from 'node:fs';
import path from 'node:path';
import { results } from './tools.mjs';

// What tells rows apart; all else is measured.
const keys = ['scale', 'mode', 'values', 'order', 'recording', 'query', 'what',
  'size', 'place', 'share', 'way', 'system'];
const key_of = row => keys.map(k => row[k] ?? '').join('|');
const file_of = name => path.join(results, name + '.json');

// Four digits are more than any of them is worth.
const short = v => typeof v === 'number' && !Number.isInteger(v)
  ? +v.toPrecision(4) : v;

export function read(name) {
  try {
    return JSON.parse(fs.readFileSync(file_of(name), 'utf8'));
  } catch {
    return { machines: [], rows: [] };
  }
}

export class Results {
  constructor(name) {
    this.name = name;
    Object.assign(this, read(name));
  }

  add(row, machine) {
    const { load, ...same } = machine;
    const text = JSON.stringify(same);
    let at = this.machines.findIndex(m => JSON.stringify(m) === text);
    if (at < 0)
      at = this.machines.push(same) - 1;
    const next = { ...Object.fromEntries(
      Object.entries(row).map(([k, v]) => [k, short(v)])), on: at };
    const old = this.rows.findIndex(r => key_of(r) === key_of(next));
    if (old < 0)
      this.rows.push(next);
    else
      this.rows[old] = next;
    this.#write();
  }

  #write() {
    // Machines that no row is of any more are left out.
    const used = [...new Set(this.rows.map(r => r.on))].sort((a, b) => a - b);
    this.machines = used.map(i => this.machines[i]);
    for (const r of this.rows)
      r.on = used.indexOf(r.on);
    const lines = a => a.map(x => '  ' + JSON.stringify(x)).join(',\n');
    fs.mkdirSync(results, { recursive: true });
    fs.writeFileSync(file_of(this.name), `{"machines": [\n` +
      `${lines(this.machines)}\n], "rows": [\n${lines(this.rows)}\n]}\n`);
  }
}

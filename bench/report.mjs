// Tables of docs/PERFORMANCE.md, each between two marks, made of the figures in
// docs/performance/.
import fs from 'node:fs';
import path from 'node:path';
import { read } from './results.mjs';
import { targets } from './targets.mjs';
import { title } from './servers.mjs';
import { say, source } from './tools.mjs';

export const digits = v => {
  if (v === undefined || v === null || !Number.isFinite(v))
    return '-';
  const a = Math.abs(v);
  return a >= 1e6 ? (v / 1e6).toFixed(a >= 1e7 ? 1 : 2) + ' M'
    : a >= 1e4 ? (v / 1e3).toFixed(0) + ' k'
      : a >= 100 ? v.toFixed(0) : a >= 10 ? v.toFixed(1)
        : a >= 0.095 || a === 0 ? v.toFixed(2) : v.toFixed(3);
};

export function table(head, rows) {
  return [head, head.map(() => '---'), ...rows]
    .map(r => `| ${r.join(' | ')} |`).join('\n');
}

const unique = (rows, key) => [...new Set(rows.map(r => r[key]))];

// Where a section's figures are from.
function origin(data) {
  return data.machines.map(m =>
    `Measured ${m.date} at commit ${m.commit}: ${m.cpu}, ${m.memory}, ` +
    `${m.system}, ${m.compiler}, \`${m.flags}\`.`).join('\n') + '\n';
}

// Columns: [heading, key], or [heading, function of the row].
function plain(data, columns) {
  return table(columns.map(c => c[0]), data.rows.map(r => columns.map(
    ([, key]) => {
      const v = typeof key === 'function' ? key(r) : r[key];
      return typeof v === 'number' ? digits(v) : v ?? '-';
    })));
}

const system = ['system', r => title(r.system)];
const cost = [
  ['points/s', 'points_s'], ['CPU us, sent', 'cpu_sent_us'],
  ['CPU us, settled', 'cpu_us'], ['peak MB', 'peak_mb'],
  ['bytes a point', 'bytes_point'], ['written/kept', 'amplification'],
];

function query_tables(data) {
  return unique(data.rows, 'scale').map(scale => {
    const rows = data.rows.filter(r => r.scale === scale);
    const systems = unique(rows, 'system');
    const body = unique(rows, 'query').map(query => {
      const of = s => rows.find(r => r.query === query && r.system === s);
      const us = of('halite'), vm = of('vm');
      return [query,
        ...systems.map(s => {
          const r = of(s) ?? {};
          return `${digits(r.p50_ms)} / ${digits(r.p99_ms)}; ` +
            `${digits(r.cpu_ms)}; ${digits(r.p50_4)} / ${digits(r.p99_4)}; ` +
            digits(r.first_ms);
        }),
        us && vm ? `${digits(vm.p50_ms / us.p50_ms)}; ` +
          digits(vm.cpu_ms / us.cpu_ms) : '-',
      ];
    });
    return `Scale ${scale}.\n\n` + table(
      ['question', ...systems.map(title), 'VictoriaMetrics / Halite: time; CPU'],
      body);
  }).join('\n\n');
}

// How each section is printed.
const printers = {
  ingest: d => plain(d, [['scale', 'scale'], ['way', 'mode'], system,
    ...cost, ['seen after s', 'lag_s'],
    ['request p50 / p99 ms', r => r.mode.startsWith('http')
      ? `${digits(r.p50_ms)} / ${digits(r.p99_ms)}` : '-']]),
  values: d => plain(d, [['values', 'values'], system, ...cost]),
  backfill: d => plain(d, [['order', 'order'], system, ...cost]),
  queries: query_tables,
};

function target_table() {
  return table(['work', 'must', 'aim', 'reached', ''],
    targets(name => read(name).rows));
}

export function write_document() {
  const file = path.join(source, 'docs/PERFORMANCE.md');
  let text = fs.readFileSync(file, 'utf8');
  const put = (name, body) => {
    const from = `<!-- bench: ${name} -->\n`, to = '<!-- end -->';
    const a = text.indexOf(from), b = text.indexOf(to, a);
    if (a < 0 || b < 0)
      throw new Error(`docs/PERFORMANCE.md has no place for ${name}`);
    text = text.slice(0, a + from.length) + body + '\n' + text.slice(b);
  };
  for (const [name, print] of Object.entries(printers)) {
    const data = read(name);
    put(name, data.rows.length > 0 ? origin(data) + '\n' + print(data)
      : 'Not measured yet.');
  }
  put('targets', target_table());
  fs.writeFileSync(file, text);
  say(`${file} is up to date`);
}

// Tables of docs/performance/TABLES.md, each between two marks, made of the
// figures beside it.
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

// Where a section's figures are from.  A row says which of several it is.
function origin(data) {
  const many = data.machines.length > 1;
  return data.machines.map((m, i) =>
    `${many ? `(${i + 1}) ` : ''}Measured ${m.date} at commit ${m.commit}: ` +
    `${m.cpu}, ${m.memory}, ${m.system}, ${m.compiler}, \`${m.flags}\`` +
    `${m.beside ? `; ${m.beside}` : ''}.`).join('  \n') + '\n';
}

// Columns: [heading, key], or [heading, function of the row].
function plain(data, columns) {
  const all = data.machines.length > 1
    ? [...columns, ['', r => `(${r.on + 1})`]] : columns;
  return table(all.map(c => c[0]), data.rows.map(r => all.map(([, key]) => {
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
    const rivals = ['vm', 'duckdb'].filter(s => systems.includes(s));
    const body = unique(rows, 'query').map(query => {
      const of = s => rows.find(r => r.query === query && r.system === s);
      const us = of('halite');
      const from = data.machines.length > 1 ? ` (${rows.find(
        r => r.query === query).on + 1})` : '';
      return [query + from,
        ...systems.map(s => {
          const r = of(s) ?? {};
          return `${digits(r.p50_ms)} / ${digits(r.p99_ms)}; ` +
            `${digits(r.cpu_ms)}; ${digits(r.p50_4)} / ${digits(r.p99_4)}; ` +
            digits(r.first_ms);
        }),
        ...rivals.map(of).map(r => us && r && query !== 'ping'
          ? `${digits(r.p50_ms / us.p50_ms)}; ` +
            digits(r.cpu_ms / us.cpu_ms) : '-'),
      ];
    });
    return `Scale ${scale}.\n\n` + table(
      ['query', ...systems.map(title),
        ...rivals.map(s => `${title(s)} / Halite: time; CPU`)],
      body);
  }).join('\n\n');
}

function year_tables(data) {
  const words = { int: 'whole numbers', dec: 'two decimals', cnt: 'counters' };
  return unique(data.rows, 'size').map(size => {
    const of_size = data.rows.filter(r => r.size === size);
    const loads = of_size.filter(r => r.query === 'loading');
    const rows = of_size.filter(r => r.query !== 'loading');
    const systems = unique(rows, 'system');
    const body = unique(rows, 'query').flatMap(query => unique(
      rows.filter(r => r.query === query), 'values').map(values => {
      const of = s => rows.find(r => r.query === query && r.system === s &&
        r.values === values);
      const us = of('halite'), vm = of('vm');
      const times = key => us && vm ? digits(vm[key] / us[key]) : '-';
      return [query, words[values], ...systems.map(s => {
        const r = of(s) ?? {};
        return `${digits(r.ms)}; ${digits(r.cpu_ms)}; ` +
          `${digits(r.first_ms)} / ${digits(r.first_cpu_ms)}`;
      }), `${times('ms')}; ${times('cpu_ms')}; ${times('first_ms')}`];
    }));
    return `${size} hosts, ${loads[0]?.days} days.\n\n` +
      plain({ ...data, rows: loads }, [system, ['points', 'points'],
        ['points/s', 'points_s'], ['CPU us, sent', 'cpu_sent_us'],
        ['CPU us, settled', 'cpu_us'], ['peak MB', 'peak_mb'],
        ['bytes a point', 'bytes_point'], ['start ms', 'start_ms']]) +
      '\n\n' + table(['query', 'values', ...systems.map(title),
        'VictoriaMetrics / Halite: time; CPU; first'], body);
  }).join('\n\n');
}

// The ways of one filter below each other.
function side_by_side(data) {
  const rows = unique(data.rows, 'place').flatMap(place =>
    unique(data.rows, 'share').flatMap(share =>
      data.rows.filter(r => r.place === place && r.share === share)));
  return { ...data, rows };
}

// How each section is printed.
const printers = {
  ingest: d => plain(d, [['scale', 'scale'], ['way', 'mode'], system,
    ...cost, ['seen after s', 'lag_s'],
    ['request p50 / p99 ms', r => r.mode.startsWith('http')
      ? `${digits(r.p50_ms)} / ${digits(r.p99_ms)}` : '-']]),
  values: d => plain(d, [['values', 'values'], ['way', 'mode'], system,
    ...cost]),
  backfill: d => plain(d, [['order', 'order'], system, ...cost]),
  recorded: d => plain(d, [['recording', 'recording'], ['points', 'points'],
    ['series', 'series'], system, ['CPU us, settled', 'cpu_us'],
    ['bytes a point', 'bytes_point']]),
  queries: query_tables,
  years: year_tables,
  workers: d => plain(d, [['scale', 'scale'], ['query', 'query'],
    ['answers/s, one worker', 'qps_1'], ['four', 'qps_4'],
    ['times', 'times']]),
  series: d => plain(d, [['series', 'size'], ['CPU us, new', 'new_us'],
    ['CPU us, a point more', 'known_us'], ['memory B', 'bytes_memory'],
    ['disk B', 'bytes_disk'], ['peak MB', 'peak_mb'],
    ['start ms', 'open_ms'], ['query ms', 'query_ms'],
    ['whole metric ms', 'whole_ms'], ['us a series', 'whole_us'],
    ['suggest ms', 'suggest_ms'], ['lookup ms', 'lookup_ms']]),
  replay: d => plain(d, [['points in the WAL', 'size'],
    ['WAL MB', 'journal_mb'], ['until it answers ms', 'open_ms'],
    ['CPU ms', 'cpu_ms'], ['CPU us a point', r => r.cpu_ms / r.size * 1e3],
    ['peak MB', 'peak_mb']]),
  open: d => plain(d, [['points', 'size'], ['disk MB', 'disk_mb'],
    ['start from the disk ms', 'open_ms'], ['start again ms', 'again_ms'],
    ['first query ms', 'first_ms'], ['query ms', 'query_ms'],
    ['memory MB', 'memory_mb'], ['CPU us a point, taken', 'cpu_us']]),
  masks: d => plain(side_by_side(d), [['filtered tag', 'place'],
    ['takes', r => `${r.share} %`], ['way', r => r.way === 'auto'
      ? `auto: ${r.chose}` : r.way], ['rows', 'rows'], ['keys', 'keys'],
    ['seeks', 'seeks'], ['plan ms', 'plan_ms'], ['scan ms', 'scan_ms'],
    ['answer ms', 'p50_ms'], ['CPU ms', 'cpu_ms']]),
  micro: d => plain(d, [['work', 'what'], ['ns', 'ns'], ['a', 'unit'],
    ['ceiling', 'ceiling'], ['ns', 'ceiling_ns'],
    ['times', r => r.ns / r.ceiling_ns]]),
};

function target_table() {
  return table(['work', 'must', 'aim', 'reached', ''],
    targets(name => read(name).rows));
}

export function write_document() {
  const file = path.join(source, 'docs/performance/TABLES.md');
  let text = fs.readFileSync(file, 'utf8');
  const put = (name, body) => {
    const from = `<!-- bench: ${name} -->\n`, to = '<!-- end -->';
    const a = text.indexOf(from), b = text.indexOf(to, a);
    if (a < 0 || b < 0)
      throw new Error(`${file} has no place for ${name}`);
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

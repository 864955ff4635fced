// Plots of docs/performance/*.png, by gnuplot, from the figures beside them.
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { read } from './results.mjs';
import { has, results, say } from './tools.mjs';
import { title } from './servers.mjs';

const style = size => `set terminal pngcairo size ${size} font "sans,10"
set grid lc rgb "#dddddd"
set key outside right top
set border 3
set tics nomirror
`;
const block = (name, rows) => `$${name} << END\n` +
  rows.map(r => r.map(v => typeof v === 'number' && !Number.isFinite(v)
    ? 'NaN' : v ?? 'NaN').join('\t')).join('\n') + '\nEND\n';

function draw(name, script, size = '720,400') {
  execFileSync('gnuplot', [], {
    input: style(size) +
      `set output "${path.join(results, name)}.png"\n${script}`,
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  say(`docs/performance/${name}.png`);
}

// Lines over a size; each line: [name, key of the row].
function lines(name, rows, x, y, all, log = 'xy') {
  if (rows.length < 2)
    return;
  const data = [...rows].sort((a, b) => a.size - b.size).map(r =>
    [r.size, ...all.map(([, key]) => r[key])]);
  draw(name, block('d', data) + `set logscale ${log}\n` +
    `set format x "%.0s%c"\nset xlabel "${x}"\nset ylabel "${y}"\nplot ` +
    all.map(([text], i) => `$d using 1:${i + 2} with linespoints lw 2 pt 7 ` +
      `title "${text}"`).join(', ') + '\n');
}

// A group of bars for each 'across', one bar a 'each'.
function bars(name, rows, y, across, each, key) {
  const groups = [...new Set(rows.map(across))];
  const kinds = [...new Set(rows.map(each))];
  if (rows.length === 0)
    return;
  const data = groups.map(g => [`"${g}"`, ...kinds.map(k =>
    rows.find(r => across(r) === g && each(r) === k)?.[key])]);
  draw(name, block('d', data) +
    'set style data histograms\nset style histogram clustered gap 1\n' +
    'set style fill solid 0.8\nset logscale y\nset xtics rotate by 40 right\n' +
    `set ylabel "${y}"\nplot ` + kinds.map((k, i) =>
    `$d using ${i + 2}${i === 0 ? ':xtic(1)' : ''} title "${k}"`).join(', ') +
    '\n', '900,460');
}

// What tests/soak/soak.mjs wrote: below one another, over minutes.
function soak(rows) {
  if (rows.length < 2)
    return;
  const parts = [
    ['MB', [['own memory', 'own_mb'], ['with mapped files', 'rss_mb'],
      ['disk', 'disk_mb']]],
    ['how many', [['descriptors', 'fds'], ['threads', 'threads'],
      ['files', 'files']]],
    ['ms', [['query, p50', 'query_p50_ms'], ['query, p99', 'query_p99_ms'],
      ['put, p99', 'put_p99_ms']], 'set logscale y\n'],
    ['load', [['of the machine', 'load']]],
  ];
  const keys = parts.flatMap(([, all]) => all.map(([, key]) => key));
  let column = 2;
  draw('soak', block('d', rows.map(r => [r.size / 60,
    ...keys.map(k => r[k])])) + 'set multiplot layout 4,1\n' +
    'set yrange [0:*]\nset xlabel "minutes"\n' +
    parts.map(([y, all, more]) => `set ylabel "${y}"\n` +
      (more ? more.replace('set', 'set yrange [*:*]\nset')
        : 'unset logscale\nset yrange [0:*]\n') + 'plot ' +
      all.map(([text]) => `$d using 1:${column++} with lines lw 2 ` +
        `title "${text}"`).join(', ') + '\n').join('') +
    'unset multiplot\n', '760,820');
}

export function draw_all() {
  if (!has('gnuplot')) {
    say('no gnuplot, no plots');
    return;
  }
  const by_title = r => title(r.system);
  bars('ingest-cpu', read('ingest').rows, 'CPU us a point',
    r => `${r.scale} ${r.mode}`, by_title, 'cpu_us');
  bars('ingest-disk', read('values').rows, 'bytes a point on disk',
    r => r.values, by_title, 'bytes_point');
  for (const scale of ['A', 'B', 'C'])
    bars(`queries-${scale}`,
      read('queries').rows.filter(r => r.scale === scale),
      'CPU ms a query', r => r.query, by_title, 'cpu_ms');
  lines('series', read('series').rows, 'series', 'of one series', [
    ['CPU us, new', 'new_us'], ['CPU us, a point more', 'known_us'],
    ['bytes of memory', 'bytes_memory'], ['bytes on disk', 'bytes_disk']]);
  lines('lookups', read('series').rows, 'series', 'milliseconds', [
    ['suggest', 'suggest_ms'], ['lookup', 'lookup_ms'],
    ['query of one host', 'query_ms'], ['of the metric', 'whole_ms'],
    ['start', 'open_ms']]);
  lines('replay', read('replay').rows, 'points in the WAL', 'milliseconds',
    [['until it answers', 'open_ms'], ['CPU', 'cpu_ms']]);
  lines('open', read('open').rows, 'points in the store', 'milliseconds', [
    ['start, from the disk', 'open_ms'], ['start, from memory', 'again_ms'],
    ['first query', 'first_ms'], ['query', 'query_ms']]);
  soak(read('soak').rows);
  bars('masks', read('masks').rows.filter(r => r.share < 100),
    'CPU ms', r => `${r.place} ${r.share} %`, r => r.way, 'cpu_ms');
}

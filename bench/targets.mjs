// What the project has set itself, and what the figures say of it.
const digits = v => v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1)
  : v.toFixed(2);

// Rows of the table: work, must, aim, reached, verdict.
export function targets(rows_of) {
  const out = [];
  const find = (name, want) => rows_of(name).find(r =>
    Object.entries(want).every(([k, v]) => r[k] === v));
  const verdict = (good, best) => best ? 'aim reached'
    : good ? 'reached' : '**missed**';

  // So many times less than VictoriaMetrics in the same run.
  const less = (work, name, want, key, must, aim, unit, time) => {
    const us = find(name, { ...want, system: 'halite' });
    const vm = find(name, { ...want, system: 'vm' });
    const ratio = us && vm ? vm[key] / us[key] : NaN;
    const known = Number.isFinite(ratio);
    out.push([work, `${must} x less than VictoriaMetrics`, `${aim} x`,
      !known ? '-' : `${digits(ratio)} x (${digits(us[key])} against ` +
        `${digits(vm[key])} ${unit}` +
        `${time ? `; ${digits(vm[time] / us[time])} x less time` : ''})`,
      !known ? 'not measured' : verdict(ratio >= must, ratio >= aim)]);
  };
  const most = (work, name, want, key, must, aim, unit) => {
    const us = find(name, { ...want, system: 'halite' });
    const v = us?.[key];
    out.push([work, `${must} ${unit}`, `${aim} ${unit}`,
      v === undefined || v === null ? '-' : `${digits(v)} ${unit}`,
      v === undefined || v === null ? 'not measured'
        : verdict(v <= must, v <= aim)]);
  };
  const both = (work, want, must, aim) => less(work, 'queries', want, 'cpu_ms',
    must, aim, 'ms of CPU', 'p50_ms');

  for (const [scale, way, must, aim] of [
    ['A', 'telnet1', 5, 8], ['A', 'telnet4', 5, 8], ['B', 'telnet1', 6, 8],
    ['B', 'telnet4', 6, 8], ['A', 'http1', 4, 6], ['A', 'http4', 4, 6],
    ['B', 'http4', 4, 6]])
    less(`a point, ${way}, scale ${scale}`, 'ingest', { scale, mode: way },
      'cpu_us', must, aim, 'us of CPU');
  less('a new series with two points, scale C', 'ingest',
    { scale: 'C', mode: 'telnet4' }, 'cpu_us', 5, 8, 'us of CPU a point');
  most('seen by queries, scale A', 'ingest', { scale: 'A', mode: 'telnet1' },
    'lag_s', 0.1, 0.1, 's after the last byte');
  const bytes = 'bytes a point on disk';
  most('whole numbers, scale A', 'ingest', { scale: 'A', mode: 'telnet1' },
    'bytes_point', 0.36, 0.33, bytes);
  most('whole numbers, scale B', 'ingest', { scale: 'B', mode: 'telnet1' },
    'bytes_point', 0.5, 0.45, bytes);
  most('two decimals', 'values', { values: 'two decimals' }, 'bytes_point',
    1.3, 1.15, bytes);
  most('counters', 'values', { values: 'counters' }, 'bytes_point', 1.55, 1.4,
    bytes);
  for (const [scale, mode, must] of [['A', 'telnet1', 80],
    ['B', 'telnet1', 130], ['C', 'telnet4', 450]])
    most(`peak memory, scale ${scale}, ${mode}`, 'ingest', { scale, mode },
      'peak_mb', must, must, 'MB');
  for (const [scale, query, must, aim] of [
    ['A', 'single-groupby-1-1-1', 1, 1], ['B', 'single-groupby-1-1-1', 1, 1],
    ['B', 'double-groupby-1', 10, 15], ['B', 'double-groupby-5', 10, 15],
    ['B', 'double-groupby-all', 10, 15], ['B', 'sum-all-hosts-1h', 8, 8],
    ['B', 'groupby-dc-1h', 8, 8], ['B', 'lastpoint', 10, 15],
    ['B', 'newest-5m, open', 8, 8], ['B', 'newest-1h-max, open', 8, 8],
    ['B', 'newest-30m-dc, open', 8, 8], ['B', 'newest-5m', 3, 3],
    ['B', 'newest-1h-max', 3, 3], ['B', 'newest-30m-dc', 3, 3]])
    both(`${query}, scale ${scale}`, { scale, query }, must, aim);
  return out;
}

/* The same query elsewhere: as a link, a file, a command, a panel of Grafana. */
import { url } from './api';
import { Ask, params, query, toHash } from './ask';
import { downsample, heated, isExact, range, request, Series } from './data';
import { filtersOf, isPlain, joinTags, letter, Sub, tagList, tagOf } from './mtext';
import { rows } from './table';
import { forServer, stamp } from './time';

const ms = (t: number) => String(Math.round(t * 1000));

/* With the times of now written out: the same picture next week. */
export function absoluteAsk(a: Ask): Ask {
  const r = range(a);
  return { ...a, start: ms(r.from), end: ms(r.to), live: 0 };
}
export const link = (a: Ask) => location.origin + location.pathname + location.search + toHash(a);

function times(a: Ask): { start: string; end: string } {
  const now = Date.now() / 1000;
  return { start: forServer(a.start, now, a.tz), end: forServer(a.end, now, a.tz) };
}

/* What /api/query is asked for; "auto" made a step of that many buckets. */
export function apiRequest(wanted: Ask, points: number): { path: string; body?: string } {
  const a = heated(wanted), r = range(a), { start, end } = times(a);
  return request(start, end, a.tz, a.subs.filter(s => s.metric).map(s => [s, downsample(s, r, points, isExact(a, s, r))]), []);
}

/* Queries of no other series than 'seen', which are some of the query's. */
function narrow(s: Sub, seen: Series[]): Sub[] {
  const [by, plain] = tagList(s.tags), keys = s.agg === 'none' ? Object.keys(seen[0]?.tags || {}) : [...new Set(by.map(t => t.split('=')[0]))];
  const one = (of: string[]) => ({ ...s, tags: joinTags(of, plain) });
  return keys.length === 1 && seen.length ? [one([tagOf(keys[0], seen.map(x => x.tags[keys[0]]).join('|'))])]
    : seen.map(x => one(keys.map(k => tagOf(k, x.tags[k]))));
}

/* Of query i: all of it, or the series that are seen. */
const shown = (a: Ask, s: Sub, i: number, series: Series[]) => a.only ? narrow(s, series.filter(x => x.sub === i && !x.old)) : [s];

/* Why the server cannot draw it, or what its picture leaves out. */
export function pictureLacks(a: Ask, series: Series[]): { why: string; without: string } {
  const plain = a.subs.every((s, i) => shown(a, s, i, series).every(isPlain)) && !(a.only && series.some(x => Object.values(x.tags).some(v => v.includes('|'))));
  const why = a.heat ? 'a heat map' : a.exps.some(x => x) ? 'formulas' : plain ? '' : 'these values of tags';
  return { why, without: [a.shift && (a.diff ? 'the difference' : 'the time before'), a.lines.length && 'thresholds'].filter(Boolean).join(' and ') };
}

/* Of the server's own picture: the same parameters, with a size; of queries that are seen, and their series. */
export function pictureUrl(a: Ask, series: Series[], format: string, wxh: string): string {
  const r = range(a), [w] = wxh.split('x').map(Number);
  const subs = a.subs.flatMap((s, i) => {
    if (!s.metric || a.hide.includes(letter(i))) return [];
    return shown(a, { ...s, ds: downsample(s, r, 2 * w, isExact(a, s, r)) }, i, series);
  });
  const p = params({ ...a, ...times(a), tz: a.tz || Intl.DateTimeFormat().resolvedOptions().timeZone, subs, live: 0, view: 'graph', embed: false, only: null, hide: [] });
  return url('q?' + query([...p.filter(([k]) => k !== 'wxh' && k !== 'stack'), ['wxh', wxh], ...(a.stack ? [['style', 'stack'] as [string, string]] : []), [format, '']]));
}

const quoted = (s: string) => "'" + s.replace(/'/g, "'\\''") + "'";
export function curl(a: Ask, points: number): string {
  const { path, body } = apiRequest(a, points);
  return (body ? `curl -d ${quoted(body)} ` : 'curl -g ') + quoted(url(path));
}

const cell = (s: string) => /[",\n]/.test(s) ? '"' + s.replace(/"/g, '""') + '"' : s;
export function csv(series: Series[], zone: string): string {
  const lines = rows(series, Infinity).reverse().map(([t, v]) => [t, stamp(t, zone), ...v.map(x => x === x ? String(x) : '')].join(','));
  return [['timestamp', 'time', ...series.map(s => cell(s.name))].join(','), ...lines].join('\n') + '\n';
}

/* Lines that telnet takes: the points as they are shown, to put them elsewhere. */
export function putLines(series: Series[]): string {
  const out: string[] = [];
  for (const s of series.filter(x => !x.old)) {
    const tags = Object.entries(s.tags).map(([k, v]) => k + '=' + v).join(' ') || 'from=page';
    s.xs.forEach((t, i) => { if (s.ys[i] === s.ys[i]) out.push(`put ${s.metric} ${t % 1 ? ms(t) : t} ${s.ys[i]} ${tags}`); });
  }
  return out.join('\n') + '\n';
}

/* A panel for Grafana's data source "OpenTSDB": Edit, panel JSON. */
export function grafana(a: Ask): string {
  const r = range(a);
  return JSON.stringify({
    type: 'timeseries', title: a.subs.map(s => s.metric).join(', '), datasource: { type: 'opentsdb' },
    fieldConfig: { defaults: { custom: { scaleDistribution: { type: a.log ? 'log' : 'linear', log: 10 }, stacking: { mode: a.stack ? 'normal' : 'none' } },
                               ...(a.zero ? { min: 0 } : {}) }, overrides: [] },
    targets: a.subs.filter(s => s.metric).map((s, i) => {
      const [interval, aggregator, fill] = downsample(s, r, 1000, false).split('-');
      return {
        refId: letter(i), metric: s.metric, aggregator: s.agg, disableDownsampling: !s.ds,
        downsampleInterval: s.ds === 'auto' ? '' : interval, downsampleAggregator: aggregator || 'avg', downsampleFillPolicy: fill || 'none',
        shouldComputeRate: !!s.rate, isCounter: s.rate.includes('counter'),
        filters: filtersOf(s),
      };
    }),
  }, null, 1);
}

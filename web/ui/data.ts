/* Answers of the server as columns to draw. */
import { Ask, query } from './ask';
import { Failed, isAway, json } from './api';
import { compile } from './exps';
import { isPlain, isSayable, jsonOf, letter, printM, Sub } from './mtext';
import { absolute, autoStep, interval, seconds } from './time';

export interface Series {
  name: string; tags: Record<string, string>; metric: string;
  merged: string[];      // tag keys whose values were put together
  sub: number;           // its query; 'subs.length + i': expression i
  right: boolean;
  xs: Float64Array;      // seconds
  ys: Float64Array;      // NaN: the line breaks
  near: number;          // seconds within which a time has the value of a point: as the holes
  old: boolean;          // of the time before, moved here
  partial: boolean;      // its last bucket is not over yet
  bucket: [number, number] | null;   // of a histogram: from, to
}
/* 'raw' is the server's, with members that the page does not show. */
export interface Note { t: number; end: number; text: string; notes: string; raw: Record<string, unknown> }
export interface Range { from: number; to: number }
export interface Answer extends Range {
  series: Series[]; notes: Note[]; ms: number; points: number; step: number;
  rough: boolean;              // what was learnt makes a better answer possible
  errors: (string | null)[];   // of each query, then of each expression
  costs: (Cost | null)[];
}
/* What a query would read, as the server says before it does. */
export interface Forecast { series: number; rows: number; seeks: number; heavy: boolean; coarser: boolean; plans: string[]; cheaper: (string | null)[] }
/* What a query has cost, as the server says. */
export interface Cost {
  series: number; rows: number; seeks: number; bytes: number; points: number; plan: string; ms: [string, number][];
}

export const tagText = (t: Record<string, string>) => {
  const keys = Object.keys(t).sort();
  return keys.length ? '{' + keys.map(k => k + '=' + t[k]).join(',') + '}' : '';
};

export const range = (a: Ask, now = Date.now() / 1000): Range =>
  ({ from: absolute(a.start, now, a.tz), to: absolute(a.end, now, a.tz) });

export const isHistogram = (s: Sub) => /percentiles|show-histogram-buckets/.test(s.more);

/* What a heat map asks for: all buckets of a histogram, their counts summed. */
export const heated = (a: Ask): Ask => !a.heat ? a : { ...a, subs: a.subs.map(s =>
  ({ ...s, agg: 'sum', rate: '', ds: s.ds.replace(/-\w+/, '-sum'), more: isHistogram(s) ? s.more : 'show-histogram-buckets' })) };

/* The step of a query's buckets in seconds, 0 for points as they are. */
export function stepOf(s: Sub, r: Range, points: number): number {
  return s.ds === 'auto' ? autoStep(r.to - r.from, points / 2) : seconds(s.ds);
}

/* Below which span of time, in seconds, extremes can stand for a query's points: any where each line is one series, none
 * where not, and less than one that was too much to read.  A stack adds lines up: they need points at the same times. */
const exactBelow = new Map<string, number>();
const same = (s: Sub) => [s.agg, s.rate, s.more, s.metric, s.tags].join(':');
export const isExact = (a: Ask, s: Sub | undefined, r: Range) => !!s && !a.stack && s.ds === 'auto' && r.to - r.from < (exactBelow.get(same(s)) || 0);
const beCoarse = (s: Sub, r: Range) => exactBelow.set(same(s), (r.to - r.from) * 0.99);

/* "auto" keeps the extremes of each pixel, so that no spike is averaged away.  Where lines are made of several series it is
 * a downsampling, never a sum over time: the last bucket, half full, would be half as high. */
export function downsample(s: Sub, r: Range, points: number, exact: boolean): string {
  if (s.ds !== 'auto') return s.ds;
  if (exact) return interval(stepOf(s, r, points)) + '-minmax';
  const how = isHistogram(s) ? 'sum' : s.agg === 'min' || s.agg === 'mimmin' ? 'min' : s.agg === 'max' || s.agg === 'mimmax' ? 'max' : 'avg';
  return interval(stepOf(s, r, points)) + '-' + how;
}

/* The usual distance of two points: the median of up to 64. */
export function usual(t: ArrayLike<number>): number {
  const every = Math.max(1, Math.floor(t.length / 64)), gaps: number[] = [];
  for (let i = 1; i < t.length; i += every) gaps.push(t[i] - t[i - 1]);
  gaps.sort((a, b) => a - b);
  return gaps[gaps.length >> 1] || Infinity;
}

/* Columns with a NaN in each hole: where two points are 2.5 times as far apart as they usually are. */
export function columns(times: number[], values: (number | string | null)[], shift: number, from: number): { xs: Float64Array; ys: Float64Array; near: number } {
  const begin = times.findIndex(t => t / 1000 + shift >= from), first = begin < 0 ? times.length : begin;
  const dps = first > 0 ? times.slice(first) : times, hole = 2.5 * usual(dps);
  let holes = 0;
  for (let i = 1; i < dps.length; i++) if (dps[i] - dps[i - 1] > hole) holes++;
  const xs = new Float64Array(dps.length + holes), ys = new Float64Array(dps.length + holes);
  let k = 0;
  for (let i = 0; i < dps.length; i++) {
    const t = dps[i] / 1000 + shift, v = values[first + i];
    if (i && dps[i] - dps[i - 1] > hole) {
      xs[k] = (xs[k - 1] + t) / 2;
      ys[k++] = NaN;
    }
    xs[k] = t;
    ys[k++] = typeof v === 'number' ? v : NaN;
  }
  return { xs, ys, near: Number.isFinite(hole) ? hole / 1000 : 60 };
}

const millis = (t: number) => t > 1e11 ? t / 1000 : t;

function noteOf(n: any): Note {
  return { t: millis(n.startTime), end: n.endTime ? millis(n.endTime) : 0, text: n.description || '', notes: n.notes || '', raw: n };
}

/* Lets the page breathe: what follows is a task of its own. */
export const pause = () => new Promise<void>(done => setTimeout(done));

const FLAGS: Record<string, string> = { ms: 'msResolution', global_annotations: 'globalAnnotations', show_summary: 'showSummary' };

/* What /api/query is asked, each query with its downsampling: by m= where that can say it, else as JSON. */
export function request(start: string, end: string, tz: string, subs: [Sub, string][], flags: string[]): { path: string; body?: string } {
  if (subs.every(([s]) => isPlain(s))) {
    const p: [string, string][] = [['start', start], ['end', end], ['tz', tz], ...subs.map(([s, ds]): [string, string] => ['m', printM(s, ds)])];
    return { path: 'api/query?' + query([...p.filter(([, v]) => v), ...flags.map((f): [string, string] => [f, ''])]) };
  }
  const on = flags.filter(f => FLAGS[f]).map(f => [FLAGS[f], true]);
  const body = { start, end: end || undefined, timezone: tz || undefined, ...Object.fromEntries(on), queries: subs.map(([s, ds]) => jsonOf(s, ds)) };
  return { path: 'api/query?' + flags.filter(f => !FLAGS[f]).join('&'), body: JSON.stringify(body) };
}
export const answer = (q: { path: string; body?: string }, signal: AbortSignal) => json(q.path, { signal, ...(q.body ? { method: 'POST', body: q.body } : {}) });

interface Part { i: number; r: Range; points: number; full: Range; shift: number }

/* One query or expression of 'a' over a part of its time; 'shift' seconds are between what is read and where it is shown. */
async function one(a: Ask, q: Part, signal: AbortSignal): Promise<any[]> {
  const s = a.subs[q.i], step = s ? stepOf(s, q.full, q.points) : 0;
  /* Whole buckets, and one before for a rate: the first is like the others. */
  const from = step ? (Math.floor((q.r.from - q.shift) / step) - +!!s.rate) * step : q.r.from - q.shift;
  const start = String(Math.floor(from * 1000)), end = String(Math.ceil((q.r.to - q.shift) * 1000));
  if (q.i >= a.subs.length) {
    const p = new URLSearchParams({ start, end, ms: 'true', ...(a.tz ? { tz: a.tz } : {}) });
    p.set('exp', compile(a.exps[q.i - a.subs.length], name => {
      const i = a.subs.findIndex((_, k) => letter(k) === name.toUpperCase());
      if (i < 0 || !a.subs[i].metric) return null;
      if (!isSayable(a.subs[i])) throw new Error(`formulas cannot say a value with = or with a bracket that has no partner, as ${name} has`);
      return printM(a.subs[i], downsample(a.subs[i], q.full, q.points, false));
    }));
    p.set('arrays', 'true');
    const groups: any[] = await json('api/query/gexp?' + p, { signal });
    return groups.map(g => ({ ...g, times: g.dps.map((d: any[]) => d[0]), values: g.dps.map((d: any[]) => d[1]) }));
  }
  const groups: any[] = await answer(request(start, end, a.tz, [[s, downsample(s, q.full, q.points, isExact(a, s, q.full))]],
                                             ['ms', 'global_annotations', 'show_summary', 'columns']), signal);
  let times: number[] = [];   // those that are equal come once
  for (const g of groups) if (g.values) times = g.times = g.times || times;
  return groups;
}

const HEAVY_ROWS = 100000;   // hours of series whose points would be read: ask before

/* A dry run of all queries of 'a'.  Where extremes are too much to read it gives them up, and says so. */
export async function forecast(wanted: Ask, points: number, signal: AbortSignal): Promise<Forecast> {
  const a = heated(wanted), r = range(a), out: Forecast = { series: 0, rows: 0, seeks: 0, heavy: false, coarser: false, plans: [], cheaper: [] };
  const asked = a.subs.map((_, i) => i).filter(i => a.subs[i].metric), subs = asked.map((i): [Sub, string] => [a.subs[i], downsample(a.subs[i], r, points, isExact(a, a.subs[i], r))]);
  const f = await answer(request(String(Math.floor(r.from * 1000)), String(Math.ceil(r.to * 1000)), a.tz, subs, ['explain']), signal);
  let read = 0;
  for (const q of f.queries) {
    if (q.reads !== 'summaries') read += q.rows;
    out.plans[asked[q.index]] = q.plan;
    out.cheaper[asked[q.index]] = q.cheaper ? q.cheaper.downsample : null;
  }
  const heavy = read > HEAVY_ROWS, exact = heavy ? a.subs.filter(s => isExact(a, s, r)) : [];
  exact.forEach(s => beCoarse(s, r));
  return { ...out, series: f.series, rows: f.rows, seeks: f.seeks, heavy, coarser: exact.length > 0 };
}

/* The same, and notes whether the extremes could be asked for; where there is too much to read for that, they are not. */
async function learn(a: Ask, q: Part, signal: AbortSignal, out: Answer): Promise<any[]> {
  const s = a.subs[q.i], exact = isExact(a, s, q.full);
  try {
    const groups = await one(a, q, signal);
    if (s && s.ds === 'auto' && !isHistogram(s) && !exactBelow.has(same(s)) && groups.some(g => g.values)) {
      exactBelow.set(same(s), groups.every(g => !g.aggregateTags?.length) ? Infinity : 0);
      out.rough = out.rough || isExact(a, s, q.full);
    }
    return groups;
  } catch (e) {
    if (!exact || !(e instanceof Failed) || e.status !== 413) throw e;
    beCoarse(s, q.full);
    return one(a, q, signal);
  }
}

const BUCKET = /_(-?[\d.]+(?:E-?\d+)?)_(-?[\d.]+(?:E-?\d+)?)$/;
const SLICE = 20000;   // points that become columns in one task

async function take(groups: any[], a: Ask, i: number, shift: number, from: number, signal: AbortSignal): Promise<Series[]> {
  const exp = a.exps[i - a.subs.length], many = a.subs.length + a.exps.length > 1, out: Series[] = [];
  let n = 0;
  for (const g of groups) {
    if (g.statsSummary || !g.values.length) continue;
    if ((n += g.values.length) > SLICE) {
      n = 0;
      await pause();
      if (signal.aborted) throw new DOMException('', 'AbortError');
    }
    const metric = exp || g.metric, b = a.subs[i] && isHistogram(a.subs[i]) ? BUCKET.exec(g.metric) : null;
    out.push({
      name: (many && !exp ? letter(i) + ' ' : '') + metric + tagText(g.tags), tags: g.tags, metric, merged: g.aggregateTags || [], sub: i,
      right: !!a.subs[i]?.right, ...columns(g.times, g.values, shift, from), old: shift > 0, partial: false, bucket: b ? [+b[1], +b[2]] : null,
    });
  }
  return out.filter(s => s.xs.length);
}

const STAGES: [string, string][] = [['planTime', 'plan'], ['queryScanTime', 'scan'], ['aggregationTime', 'aggregate'], ['serializationTime', 'answer'], ['totalTime', 'in all']];
function costOf(groups: any[]): Cost | null {
  const all = groups.find(g => g.statsSummary)?.statsSummary, q = all?.queryIdx_00;
  if (!q) return null;
  const at = { ...q, serializationTime: all.serializationTime, totalTime: all.totalTime };
  return { series: q.series, rows: q.rowsFromStorage, seeks: q.seeks, bytes: q.bytesFromStorage, points: q.dpsPostFilter, plan: q.plan || '',
           ms: STAGES.filter(([k]) => at[k] != null).map(([k, l]) => [l, at[k]]) };
}

function takeNotes(groups: any[], notes: Note[]) {
  for (const g of groups)
    for (const raw of [...(g.annotations || []), ...(g.globalAnnotations || [])]) {
      const note = noteOf(raw);
      if (!notes.some(k => k.t === note.t && k.text === note.text)) notes.push(note);
    }
}

/* Is a series' last bucket still being filled? */
function markPartial(s: Series, step: number, to: number) {
  const n = s.xs.length;
  s.partial = step > 0 && !s.old && n > 0 && s.xs[n - 1] + step > Math.min(Date.now() / 1000, to);
}

/* What is seen of 'old' before 't', and 'more' from then on. */
function join(old: Series, more: Series, from: number, t: number): Series {
  const i = before(old.xs, from), j = before(old.xs, t - 1e-6) + 1, k = before(more.xs, t - 1e-6) + 1;
  const cat = (p: Float64Array, q: Float64Array) => {
    const n = Math.max(0, j - Math.max(0, i)), c = new Float64Array(n + q.length - k);
    c.set(p.subarray(Math.max(0, i), j));
    c.set(q.subarray(k), n);
    return c;
  };
  return { ...old, xs: cat(old.xs, more.xs), ys: cat(old.ys, more.ys), near: Math.min(old.near, more.near) };
}

/* All queries of 'a', each a request of its own: a mistake in one leaves the others.  Throws when the server is away.  With 'had', an answer to the same
 * queries, only what is newer is asked for. */
export async function load(wanted: Ask, points: number, signal: AbortSignal, had?: Answer): Promise<Answer> {
  const a = heated(wanted), r = range(a), t0 = performance.now(), shifts = seconds(a.shift) ? [0, seconds(a.shift)] : [0];
  const ids = [...a.subs.map((_, i) => i).filter(i => a.subs[i].metric), ...a.exps.map((_, i) => a.subs.length + i)];
  const out: Answer = { ...r, series: [], notes: had ? [...had.notes] : [], errors: [], costs: had ? [...had.costs] : [], ms: 0, points: 0, step: 0, rough: false };
  await Promise.all(ids.map(async i => {
    const step = stepOf(a.subs[i] || a.subs[0], r, points);
    if (i < a.subs.length) out.step = Math.max(out.step, step);
    out.errors[i] = null;
    try {
      for (const shift of shifts) {
        const old = had ? had.series.filter(x => x.sub === i && x.old === shift > 0) : [];
        const last = Math.max(-Infinity, ...old.map(x => x.xs[x.xs.length - 1] ?? -Infinity));
        const since = old.length && last > r.from ? step ? Math.floor(last / step) * step : last : r.from;
        const q = { from: since > r.from ? Math.max(r.from, since - 2 * (step || 60)) : r.from, to: r.to };
        const groups = await learn(a, { i, r: q, full: r, points, shift }, signal, out), series = await take(groups, a, i, shift, r.from, signal);
        if (!shift) {
          takeNotes(groups, out.notes);
          if (since === r.from) out.costs[i] = costOf(groups);
        }
        if (since > r.from)
          for (const o of old) {
            const more = series.findIndex(x => x.name === o.name);
            out.series.push(join(o, more < 0 ? { ...o, xs: new Float64Array(0), ys: new Float64Array(0) } : series.splice(more, 1)[0], r.from, since));
          }
        out.series.push(...series);
      }
    } catch (e) {
      if (signal.aborted || isAway(e)) throw e;
      out.errors[i] = (e as Error).message;
    }
    out.series.forEach(x => { if (x.sub === i) markPartial(x, isExact(a, a.subs[i], r) ? 0 : step, r.to); });
  }));
  out.series.sort((p, q) => +p.old - +q.old || p.sub - q.sub);
  for (const s of out.series) for (const v of s.ys) if (v === v) out.points++;
  out.ms = performance.now() - t0;
  return out;
}

/* What has changed since the time before: each series less itself then. */
export function differences(all: Series[]): Series[] {
  return all.filter(s => !s.old).flatMap(s => {
    const then = all.find(o => o.old && o.name === s.name && o.sub === s.sub);
    if (!then) return [];
    const near = usualGap(s.xs);
    return [{ ...s, ys: s.ys.map((v, i) => { const j = nearest(then, s.xs[i]); return j >= 0 && Math.abs(then.xs[j] - s.xs[i]) <= near ? v - then.ys[j] : NaN; }) }];
  });
}
const usualGap = (xs: Float64Array) => xs.length > 1 ? (xs[xs.length - 1] - xs[0]) / (xs.length - 1) : 1;

/* Index of the last point at or before 't', -1: none. */
export function before(xs: Float64Array, t: number): number {
  let lo = -1, hi = xs.length;
  while (hi - lo > 1) {
    const mid = (lo + hi) >> 1;
    if (xs[mid] <= t) lo = mid; else hi = mid;
  }
  return lo;
}

export function nearest(s: Series, t: number): number {
  const i = before(s.xs, t), n = s.xs.length;
  if (i < 0) return n ? 0 : -1;
  return i + 1 < n && s.xs[i + 1] - t < t - s.xs[i] ? i + 1 : i;
}

/* The same, or -1 where that is too far away, or a hole. */
export function at(s: Series, t: number): number {
  const i = nearest(s, t);
  return i >= 0 && s.ys[i] === s.ys[i] && Math.abs(s.xs[i] - t) <= s.near ? i : -1;
}

export interface Stats { min: number; avg: number; max: number; last: number; points: number }
export function stats(s: Series): Stats {
  let n = 0, min = Infinity, max = -Infinity, sum = 0, last = NaN;
  for (let i = 0; i < s.ys.length; i++) {
    const v = s.ys[i];
    if (v !== v) continue;
    n++;
    if (v < min) min = v;
    if (v > max) max = v;
    sum += v;
    last = v;
  }
  return { min: n ? min : NaN, avg: n ? sum / n : NaN, max: n ? max : NaN, last, points: n };
}

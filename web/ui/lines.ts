/* Drawing of series on a canvas: lines, stacks, heat maps, annotations, thresholds. */
import { before, Note, Series, usual } from './data';

/* From data to the canvas, of one axis. */
export interface Scale { x(t: number): number; y(v: number): number }
export interface Box { x: number; y: number; w: number; h: number }
export interface Line { s: Series; colour: string; base?: Float64Array }   // base: a stack's lower edge
export interface Cell { lo: number; hi: number; s: Series }

const GAP = [5, 4];

/* The points of [from, to) that lie in the picture, and one on each side. */
function part(s: Series, from: number, to: number): [number, number] {
  return [Math.max(0, before(s.xs, from)), Math.min(s.xs.length, before(s.xs, to) + 2)];
}

/* A path through the points; of more than two a pixel the first, least, greatest and last of each pixel, so
 * that it looks as all of them would. */
function trace(c: CanvasRenderingContext2D, s: Series, ys: Float64Array, i: number, end: number, k: Scale, wide: boolean) {
  let down = false, px = NaN, lo = 0, hi = 0, y = 0;
  for (; i < end; i++) {
    const v = ys[i];
    if (v !== v) {
      if (wide && down) { c.lineTo(px, lo); c.lineTo(px, hi); c.lineTo(px, y); }
      down = false;
      px = NaN;
      continue;
    }
    const x = k.x(s.xs[i]), at = wide ? Math.round(x) : x;
    if (wide && at === px) {
      y = k.y(v);
      if (y < lo) lo = y;
      if (y > hi) hi = y;
      continue;
    }
    if (wide && down) { c.lineTo(px, lo); c.lineTo(px, hi); c.lineTo(px, y); }
    y = lo = hi = k.y(v);
    px = at;
    if (down) c.lineTo(at, y);
    else if (i + 1 < end && ys[i + 1] === ys[i + 1]) c.moveTo(at, y);
    else { c.moveTo(at + 1, y); c.arc(at, y, 1, 0, 7); }   // alone: a dot
    down = true;
  }
  if (wide && down) { c.lineTo(px, lo); c.lineTo(px, hi); c.lineTo(px, y); }
}

export function drawLine(c: CanvasRenderingContext2D, l: Line, k: Scale, box: Box, from: number, to: number, width: number) {
  const { s } = l, [i, end] = part(s, from, to), n = end - i, wide = n > 2 * box.w;
  if (n <= 0) return;
  c.strokeStyle = l.colour;
  c.lineWidth = width;
  c.lineJoin = 'bevel';
  c.setLineDash(s.old ? GAP : []);
  const last = s.partial && end === s.xs.length && n > 1 ? end - 1 : end;
  c.beginPath();
  trace(c, s, s.ys, i, last, k, wide);
  c.stroke();
  if (last < end) {                       // a bucket that is not over looks unfinished
    c.setLineDash([1.5, 3]);
    c.beginPath();
    trace(c, s, s.ys, last - 1, end, k, false);
    c.stroke();
  }
  c.setLineDash([]);
}

/* One layer of a stack, between its base and its top; a hole ends the layer. */
export function drawLayer(c: CanvasRenderingContext2D, l: Line, k: Scale, from: number, to: number) {
  const { s } = l, base = l.base!, [first, end] = part(s, from, to);
  c.fillStyle = l.colour;
  c.globalAlpha = 0.75;
  for (let i = first; i < end; i++) {
    if (s.ys[i] !== s.ys[i]) continue;
    let j = i;
    c.beginPath();
    for (; j < end && s.ys[j] === s.ys[j]; j++) c.lineTo(k.x(s.xs[j]), k.y(base[j] + s.ys[j]));
    for (let b = j - 1; b >= i; b--) c.lineTo(k.x(s.xs[b]), k.y(base[b]));
    if (j - i === 1) c.rect(k.x(s.xs[i]) - 1.5, k.y(base[i] + s.ys[i]), 3, k.y(base[i]) - k.y(base[i] + s.ys[i]));
    c.fill();
    i = j;
  }
  c.globalAlpha = 1;
}

const STACK_VALUES = 4e6;   // of all layers together; of more times every n-th counts

/* The times of all, sorted; mostly they are the same. */
function timesOf(all: Series[]): Float64Array {
  const first = all.length ? all[0].xs : new Float64Array(0);
  if (all.every(s => s.xs.length === first.length && s.xs.every((x, i) => x === first[i]))) return first;
  return Float64Array.from(new Set(all.flatMap(s => [...s.xs]))).sort();
}

/* Layers of a stack: each lies on the sum of those before it, on its axis.  All have the times of all; a series that has no
 * point at one of them is taken on the line between its near ones, where it has no hole. */
export function stackUp(all: Series[]): { s: Series; base: Float64Array }[] {
  const axes = [false, true].map(right => {
    const t = timesOf(all.filter(s => s.right === right)), every = Math.ceil(t.length * all.length / STACK_VALUES);
    return { t: every > 1 ? t.filter((_, i) => i % every === 0) : t, sum: new Float64Array(t.length) };
  });
  return all.map(s => {
    const { t, sum } = axes[+s.right], { xs, ys } = s, v = new Float64Array(t.length).fill(NaN), base = sum.slice(0, t.length);
    for (let i = 0, k = 0; i < t.length && k < xs.length; i++) {
      while (k < xs.length && xs[k] < t[i]) k++;
      if (xs[k] === t[i]) v[i] = ys[k];
      else if (k && k < xs.length) v[i] = ys[k - 1] + (ys[k] - ys[k - 1]) * (t[i] - xs[k - 1]) / (xs[k] - xs[k - 1]);
      if (v[i] === v[i]) sum[i] += v[i];
    }
    return { s: { ...s, xs: t, ys: v }, base };
  });
}

/* A histogram over time: the more values in a bucket, the stronger its cell, which lasts until the next. */
export function drawHeat(c: CanvasRenderingContext2D, cells: Cell[], k: Scale, step: number, ink: string) {
  const apart = Math.min(...cells.map(b => usual(b.s.xs))), wide = Number.isFinite(apart) ? Math.max(step, apart) : step;
  let most = 0;
  for (const b of cells) for (const v of b.s.ys) if (v > most) most = v;
  c.fillStyle = ink;
  for (const b of cells) {
    const top = Math.round(k.y(b.hi)), high = Math.max(1, Math.round(k.y(b.lo)) - top);
    for (let i = 0; i < b.s.xs.length; i++) {
      if (!(b.s.ys[i] > 0)) continue;
      const x = Math.round(k.x(b.s.xs[i]));
      c.globalAlpha = 0.08 + 0.92 * Math.log1p(b.s.ys[i]) / Math.log1p(most);
      c.fillRect(x, top, Math.max(1, Math.round(k.x(b.s.xs[i] + wide)) - x), high);
    }
  }
  c.globalAlpha = 1;
}

export function drawNotes(c: CanvasRenderingContext2D, notes: Note[], k: Scale, box: Box, ink: string) {
  const rows = [-Infinity, -Infinity, -Infinity];   // of labels, where the last of each ends; what has no room has none
  c.font = '11px system-ui,sans-serif';
  for (const n of [...notes].sort((p, q) => p.t - q.t)) {
    const x = k.x(n.t);
    if (x < box.x || x > box.x + box.w) continue;
    c.strokeStyle = '#d55e00';
    c.setLineDash([4, 3]);
    c.beginPath();
    c.moveTo(x, box.y);
    c.lineTo(x, box.y + box.h);
    c.stroke();
    c.setLineDash([]);
    if (n.end > n.t) {
      c.fillStyle = '#d55e0022';
      c.fillRect(x, box.y, k.x(n.end) - x, box.h);
    }
    const row = rows.findIndex(end => end < x), label = n.text.slice(0, 40);
    if (row < 0) continue;
    rows[row] = x + 8 + c.measureText(label).width;
    c.fillStyle = ink;
    c.fillText(label, x + 4, box.y + 12 + 14 * row);
  }
}

/* A line, and a tint over what lies beyond it. */
export function drawThresholds(c: CanvasRenderingContext2D, lines: number[], k: Scale, box: Box) {
  for (const v of lines) {
    const y = k.y(v);
    c.strokeStyle = '#c1272d';
    c.lineWidth = 1;
    c.beginPath();
    c.moveTo(box.x, y);
    c.lineTo(box.x + box.w, y);
    c.stroke();
    c.fillStyle = '#c1272d18';
    c.fillRect(box.x, box.y, box.w, Math.max(0, Math.min(box.h, y - box.y)));
  }
}

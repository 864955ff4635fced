/* The seam to the chart library: dygraphs makes axes, ticks, grid and coordinates; the lines are ours (lines.ts), so
 * that thousands of points a series are cheap and may be drawn over several frames. */
import Dygraph, { Area, PlotterCall, Ticker } from 'dygraphs';
import { at, nearest, Note, Series } from './data';
import { gestures } from './gestures';
import { Box, Cell, drawHeat, drawLayer, drawLine, drawNotes, drawThresholds, Line, Scale, stackUp } from './lines';
import { si, tick } from './look';
import { stamp, ticks } from './time';

export interface Picture {
  from: number; to: number; zone: string; nothing: string;   // what it says without data
  series: Series[]; colours: string[];   // only what is to be seen
  cells: Cell[]; step: number;           // a heat map instead
  log: boolean; log2: boolean; zero: boolean; stack: boolean;
  notes: Note[]; lines: number[];
}
export interface Events {
  range(from: number, to: number): void;               // zoomed or panned
  hover(t: number | null, near: number | null): void;  // a time, and which of 'series'
  pick(near: number): void;                            // clicked on
  axis(t: number): void;                               // clicked on the time axis
}
export interface Chart { show(p: Picture): void; mark(near: number | null): void; destroy(): void }

const SLICE_MS = 25;

/* The library's ticks, with as many digits as tell them apart. */
const valueTicks: Ticker = (lo, hi, px, option, g, vals) => {
  const all = Dygraph.numericTicks(lo, hi, px, option, g, vals), most = Math.max(...all.map(t => Math.abs(t.v)));
  return option('logscale') || all.length < 2 ? all : all.map(t => ({ ...t, label: tick(t.v, all[1].v - all[0].v, most) }));
};

export function chart(root: HTMLElement, on: Events): Chart {
  const inner = part('inner'), top = document.createElement('canvas'), cross = part('cross'), tip = part('tip'), says = part('says');
  let g: Dygraph | null = null, p: Picture | null = null, lines: Line[] = [], turn = 0, right = false;

  function part(name: string): HTMLDivElement {
    const d = document.createElement('div');
    d.className = name;
    return root.appendChild(d);
  }
  top.className = 'top';
  root.appendChild(top);

  /* Coordinates of one axis, without a call into the library for each point. */
  function scale(axis: number, box: Box): Scale {
    const [lo, hi] = g!.yAxisRange(axis), [from, to] = g!.xAxisRange();
    const kx = box.w / (to - from) * 1000, x0 = box.x - from / 1000 * kx;
    const log = axis ? p!.log2 : p!.log, f = log ? Math.log : (v: number) => v;
    const ky = box.h / (f(hi) - f(lo)), y0 = box.y + box.h + f(lo) * ky;
    return { x: t => x0 + t * kx, y: log ? v => v > 0 ? y0 - Math.log(v) * ky : box.y + box.h + 9 : v => y0 - v * ky };
  }

  /* Called by the library when its axes are there.  Long work goes on in later tasks, until another call. */
  function paint(c: CanvasRenderingContext2D, area: Area) {
    const mine = ++turn, q = p!, box = { ...area }, k = [scale(0, box), right ? scale(1, box) : scale(0, box)];
    const [from, to] = g!.xAxisRange().map(x => x / 1000);
    let i = 0;
    const slice = () => {
      if (mine !== turn || !g) return;
      const until = performance.now() + SLICE_MS;
      c.save();
      c.beginPath();
      c.rect(box.x, box.y, box.w, box.h);
      c.clip();
      if (!i && q.cells.length) drawHeat(c, q.cells, k[0], q.step, ink('--on'));
      for (; i < lines.length && (i === 0 || performance.now() < until); i++) {
        const l = lines[i], s = k[+l.s.right];
        if (l.base) drawLayer(c, l, s, from, to);
        else drawLine(c, l, s, box, from, to, 1.25);
      }
      if (i >= lines.length) {
        drawThresholds(c, q.lines, k[0], box);
        drawNotes(c, q.notes, k[0], box, ink('--ink'));
      }
      c.restore();
      if (i < lines.length) setTimeout(slice);
      else said(q);
    };
    slice();
  }
  /* For tests: how often all was drawn, when first, and how many series end in a bucket that is not over. */
  function said(q: Picture) {
    root.dataset.drawn = String(+(root.dataset.drawn || 0) + 1);
    root.dataset.partial = String(q.series.filter(s => s.partial).length);
    if (q.series.length && !root.dataset.first) root.dataset.first = String(Math.round(performance.now()));
  }
  const ink = (name: string) => getComputedStyle(root).getPropertyValue(name).trim();

  /* Least and greatest of what an axis shows. */
  let blank = true;   // no value is seen
  function extent(axis: boolean): [number, number] {
    let lo = Infinity, hi = -Infinity;
    const log = axis ? p!.log2 : p!.log;
    const see = (v: number) => { if (log && v <= 0) return; if (v < lo) lo = v; if (v > hi) hi = v; };
    for (const { s, base } of lines) {
      if (s.right !== axis) continue;
      for (let i = 0; i < s.ys.length; i++) if (s.xs[i] >= p!.from && s.xs[i] <= p!.to) see(base ? base[i] + s.ys[i] : s.ys[i]);
      if (base) see(0);
    }
    if (!axis) for (const c of p!.cells) { see(c.lo); see(c.hi); }
    if (lo <= hi) blank = false;
    if (!axis) p!.lines.forEach(see);
    if (p!.zero && !log && lo <= hi) see(0);
    if (lo > hi) return log ? [1, 10] : [0, 1];
    if (lo < hi) return [lo, hi];
    const room = Math.abs(lo) / 10 || 1;
    return log ? [lo / 2, hi * 2] : [lo - room, hi + room];
  }

  function show(next: Picture) {
    p = next;
    lines = (p.stack ? stackUp(p.series) : p.series.map(s => ({ s }))).map((l, i) => ({ ...l, colour: next.colours[i] }));
    right = p.series.some(s => s.right);
    blank = true;
    const a = extent(false), b = extent(true);
    says.hidden = !blank;
    says.textContent = !p.series.length && !p.cells.length ? p.nothing : p.log || p.log2 ? 'nothing above 0' : 'no data';
    const pad = (v: [number, number], log: boolean): [number, number] => {
      if (log) return [v[0] / 1.15, v[1] * 1.15];
      const room = (v[1] - v[0]) * 0.06;
      return [v[0] === 0 || (p!.zero && v[0] >= 0) ? 0 : v[0] - room, v[1] + room];
    };
    const axis = (v: [number, number], log: boolean) => {
      const [lo, hi] = pad(v, log), least = 10 ** Math.floor(Math.log10((hi - lo) / 14));   // step of ticks
      const longest = log ? '' : tick(lo < 0 ? lo : hi, least, Math.max(Math.abs(lo), Math.abs(hi)));
      return { valueRange: [lo, hi], logscale: log, ticker: valueTicks, axisLabelFormatter: (x: number) => si(x), axisLabelWidth: Math.max(58, 7 * longest.length + 12) };
    };
    const zone = p.zone, options: Record<string, unknown> = {
      file: [[p.from * 1000, a[0], b[0]], [p.to * 1000, a[1], b[1]]].map(r => right ? r : r.slice(0, 2)),
      labels: right ? ['t', 'y', 'y2'] : ['t', 'y'], series: { y2: { axis: 'y2' } },
      dateWindow: [p.from * 1000, p.to * 1000],
      axes: {
        x: { ticker: (x: number, y: number, px: number) => ticks(x / 1000, y / 1000, Math.max(2, px / 80), zone), axisLabelWidth: 76 },
        y: axis(a, p.log),
        y2: { ...axis(b, p.log2), drawGrid: false, independentTicks: true },
      },
      axisLabelColor: ink('--ink'), axisLineColor: ink('--line'), gridLineColor: ink('--grid'),
      plotter: (e: PlotterCall) => {      // the constructor calls it before it returns
        g = e.dygraph;
        if (e.setName === 'y') paint(e.drawingContext, e.plotArea);
      },
    };
    mark(null);
    if (g && g.getArea() && right === hadRight) {
      g.updateOptions(options);
    } else {
      g?.destroy();
      const { file, ...rest } = options;
      g = new Dygraph(inner, file as number[][], { ...rest, legend: 'never', interactionModel: {}, highlightCircleSize: 0, xAxisHeight: 34, rightGap: 8 });
    }
    hadRight = right;
  }
  let hadRight = false;

  /* The series nearest to the pointer, where one is near enough. */
  function near(x: number, y: number): number | null {
    const box = g!.getArea(), k = [scale(0, box), right ? scale(1, box) : scale(0, box)], t = g!.toDataXCoord(x) / 1000;
    let best: number | null = null, least = 40;
    lines.forEach(({ s, base }, i) => {
      const j = at(s, t);
      if (j < 0) return;
      const d = base ? Math.abs(k[+s.right].y(base[j] + s.ys[j] / 2) - y) : Math.abs(k[+s.right].y(s.ys[j]) - y);
      if (d < least) { least = d; best = i; }
    });
    return best;
  }

  function mark(i: number | null) {
    const w = inner.clientWidth, h = inner.clientHeight, ratio = devicePixelRatio || 1, c = top.getContext('2d')!;
    if (top.width !== w * ratio || top.height !== h * ratio) { top.width = w * ratio; top.height = h * ratio; }
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, w, h);
    if (i == null || !g || !lines[i] || lines.length < 2) return;
    const box = g.getArea(), l = lines[i];
    c.beginPath();
    c.rect(box.x, box.y, box.w, box.h);
    c.clip();
    const s = l.base ? { ...l.s, ys: l.s.ys.map((v, j) => v + l.base![j]) } : l.s;
    drawLine(c, { s, colour: l.colour }, scale(+(right && l.s.right), box), box, p!.from, p!.to, 3);
  }

  function hover(x: number | null, y: number) {
    const box = g?.getArea();
    if (x == null || !box || x < box.x || x > box.x + box.w) {
      cross.hidden = tip.hidden = true;
      mark(null);
      on.hover(null, null);
      return;
    }
    const t = g!.toDataXCoord(x) / 1000, i = near(x, y);
    cross.hidden = false;
    cross.style.cssText = `left:${x}px;top:${box.y}px;height:${box.h}px`;
    const s = i == null ? null : lines[i].s, j = s ? nearest(s, t) : -1;
    tip.hidden = false;
    tip.textContent = s ? `${stamp(s.xs[j], p!.zone)}\n${s.name}\n${si(s.ys[j], g!.yAxisRange(+(right && s.right)).reduce((lo, hi) => hi - lo))}` : stamp(Math.round(t), p!.zone);
    tip.style.cssText = x > box.x + box.w / 2 ? `right:${inner.clientWidth - x + 12}px;top:${box.y + 4}px` : `left:${x + 12}px;top:${box.y + 4}px`;
    mark(i);
    on.hover(t, i);
  }
  cross.hidden = tip.hidden = true;

  const release = gestures(root, {
    box: () => g?.getArea() || { x: 0, y: 0, w: 1, h: 1 },
    range: () => { const [a, b] = g!.xAxisRange(); return [a / 1000, b / 1000]; },
    preview: (from, to) => { if (g) { g.updateOptions({ dateWindow: [from * 1000, to * 1000] }); } },
    done: on.range, hover,
    click: (x, y) => {
      if (!g) return;
      const box = g.getArea();
      if (y > box.y + box.h) on.axis(g.toDataXCoord(x) / 1000);
      else { const i = near(x, y); if (i != null) on.pick(i); }
    },
  });
  return {
    show, mark,
    destroy: () => { turn++; release(); g?.destroy(); g = null; root.textContent = ''; },
  };
}

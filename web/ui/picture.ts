/* What the chart and the legend show of an answer. */
import { Ask } from './ask';
import { Picture } from './chart';
import { Answer, differences, range } from './data';
import { Entry, sorted } from './legend';
import { colour } from './look';
import { letter } from './mtext';

export const DRAWN = 100;   // series at first

/* The first 'most' series, and the picture of those of them that are on. */
export function pictureOf(a: Ask, ans: Answer | null, most: number): { entries: Entry[]; picture: Picture } {
  const hidden = (i: number) => i < a.subs.length && a.hide.includes(letter(i));
  const got = (ans ? ans.series : []).filter(s => !hidden(s.sub)).map(s => ({ ...s, right: !!a.subs[s.sub]?.right }));
  const series = a.diff && a.shift ? differences(got) : got;
  const colours = new Map([...new Set(series.map(s => s.name))].map((n, i) => [n, colour(i)]));
  const on = new Set(a.only && a.only.some(n => colours.has(n)) ? a.only : [...colours.keys()]);
  const entries = sorted(series, a.sort).slice(0, most).map(({ s, st }) => ({ s, st, colour: colours.get(s.name)!, on: on.has(s.name) }));
  const seen = entries.filter(e => e.on), r = ans || range(a), cells = a.heat ? seen.filter(e => e.s.bucket && !e.s.old) : [];
  const lines = a.heat ? seen.filter(e => !cells.includes(e) && !/_(UNDER|OVER)FLOW$/.test(e.s.metric)) : seen;
  return {
    entries, picture: {
      nothing: a.heat ? 'no data of a histogram' : a.embed || ans?.errors.some(Boolean) ? 'no data' : 'no data (“heatmap” draws histograms)',
      from: r.from, to: r.to, zone: a.tz, series: lines.map(e => e.s), colours: lines.map(e => e.colour),
      cells: cells.map(e => ({ lo: e.s.bucket![0], hi: e.s.bucket![1], s: e.s })), step: ans ? ans.step : 0,
      log: a.log, log2: a.log2, zero: a.zero, stack: a.stack, notes: a.notes && ans ? ans.notes : [], lines: a.lines,
    },
  };
}

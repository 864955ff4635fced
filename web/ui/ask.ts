/* What is asked and how it is shown: all of it lies in the URL's fragment, which OpenTSDB's page understands too. */
import { parseM, printM, Sub } from './mtext';

export interface Ask {
  start: string; end: string; tz: string;
  subs: Sub[];
  exps: string[];          // arithmetic over the letters of 'subs', or a gexp
  log: boolean; log2: boolean; zero: boolean; stack: boolean; heat: boolean;
  live: number;            // seconds between looks, 0: none
  shift: string;           // "1w": the same a week before, beneath
  diff: boolean;           // and instead of both, what has changed
  only: string[] | null;   // names of the series that are shown, null: all
  sort: string;            // a column of the legend, "-" in front: ascending
  lines: number[];         // thresholds
  notes: boolean;
  view: string;            // graph, table, or a tab
  embed: boolean;
  hide: string[];          // letters of queries that are asked for expressions only
  panel: string;           // what is open below the graph: cost, changed
  rest: [string, string][]; // OpenTSDB's other parameters, kept for its pictures
}

export const empty: Ask = {
  start: '1h-ago', end: '', tz: '', subs: [], exps: [], log: false, log2: false, zero: false, stack: false, heat: false,
  live: 0, shift: '', diff: false, only: null, sort: '', lines: [], notes: true, view: 'graph', embed: false, hide: [], panel: '', rest: [],
};

/* Do time and keys act on what is seen? */
export const isGraph = (a: Ask) => !['board', 'explorer', 'health'].includes(a.view);

const known = new Set(['start', 'end', 'tz', 'm', 'o', 'exp', 'ylog', 'y2log', 'yrange', 'stack', 'heat', 'autoreload', 'shift',
                       'diff', 'only', 'sort', 'line', 'no_annotations', 'view', 'embed', 'hide', 'panel', 'ignore']);

export function fromHash(hash: string): Ask {
  const p = new URLSearchParams(hash.replace(/^#/, '')), o = p.getAll('o');
  return {
    ...empty,
    start: p.get('start') || '1h-ago', end: p.get('end') || '', tz: p.get('tz') || '',
    subs: p.getAll('m').map((m, i) => parseM(m, o[i])), exps: p.getAll('exp'),
    log: p.has('ylog'), log2: p.has('y2log'), zero: p.get('yrange') === '[0:]', stack: p.has('stack') || p.get('style') === 'stack', heat: p.has('heat'),
    live: Math.max(0, parseInt(p.get('autoreload') || '0') || 0), shift: p.get('shift') || '', diff: p.has('diff'),
    only: p.has('only') ? p.getAll('only') : null, sort: p.get('sort') || '',
    lines: p.getAll('line').map(Number).filter(Number.isFinite), notes: !p.has('no_annotations'),
    view: p.get('view') || 'graph', embed: p.has('embed') || location.search.includes('embed'),
    hide: (p.get('hide') || '').split(',').filter(Boolean), panel: p.get('panel') || '',
    rest: [...p].filter(([k, v]) => !known.has(k) || (k === 'yrange' && v !== '[0:]')),
  };
}

/* What need not be escaped in a fragment stays as it is, so that links can be read. */
const word = (s: string) => encodeURIComponent(s).replace(/%(7B|7D|3A|2A|2C|5B|5D|7C|2F|3D|40)/g, decodeURIComponent);

export function params(a: Ask): [string, string][] {
  const p: [string, string][] = [['start', a.start]], flag = (on: boolean, k: string) => { if (on) p.push([k, '']); };
  if (a.end) p.push(['end', a.end]);
  if (a.tz) p.push(['tz', a.tz]);
  for (const s of a.subs) p.push(['m', printM(s)], ['o', s.right ? 'axis x1y2' : '']);
  for (const e of a.exps) p.push(['exp', e]);
  flag(a.log, 'ylog'); flag(a.log2, 'y2log'); flag(a.stack, 'stack'); flag(a.heat, 'heat');
  if (a.zero) p.push(['yrange', '[0:]']);
  if (a.live) p.push(['autoreload', String(a.live)]);
  if (a.shift) p.push(['shift', a.shift]);
  flag(a.diff, 'diff');
  for (const n of a.only || []) p.push(['only', n]);
  if (a.sort) p.push(['sort', a.sort]);
  for (const n of a.lines) p.push(['line', String(n)]);
  flag(!a.notes, 'no_annotations');
  if (a.view !== 'graph') p.push(['view', a.view]);
  if (a.hide.length) p.push(['hide', a.hide.join(',')]);
  if (a.panel) p.push(['panel', a.panel]);
  flag(a.embed, 'embed');
  return [...p, ...a.rest];
}

export const query = (p: [string, string][]) => p.map(([k, v]) => v || k === 'o' ? k + '=' + word(v) : k).join('&');
export const toHash = (a: Ask) => '#' + query(params(a));

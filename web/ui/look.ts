/* Colours and numbers, the same wherever they are shown. */

import palette from '../chart/palette.def';
import { isDark } from './theme';

/* The server's pictures have the same: a light and a dark one each; then steps of the hue. */
const base = [...palette.matchAll(/^X\(0x(\w+), 0x(\w+)\)/gm)].map(m => ['#' + m[1], '#' + m[2]]);
export const colour = (i: number) => i < base.length ? base[i][+isDark()] : `hsl(${i * 137.5 % 360} 60% ${isDark() ? 65 : 45}%)`;

const prefixes: Record<string, string> =
  { '-3': 'n', '-2': 'µ', '-1': 'm', 0: '', 1: 'k', 2: 'M', 3: 'G', 4: 'T', 5: 'P', 6: 'E' };

/* Five digits, a prefix where there are too many. */
export function si(v: number | null | undefined): string {
  if (v == null || !Number.isFinite(v)) return '-';
  const a = Math.abs(v);
  if (a < 1e4 && (a >= 1e-3 || a === 0)) return String(+v.toPrecision(5));
  const e = Math.max(-3, Math.min(6, Math.floor(Math.log10(a) / 3)));
  return +(v / 10 ** (e * 3)).toPrecision(4) + prefixes[e];
}

/* "12,345.6", without the browser's tables of languages, which take a tenth of a second to load. */
export function count(n: number): string {
  const [whole, part] = String(n).split('.');
  return whole.replace(/\B(?=(\d{3})+$)/g, ',') + (part ? '.' + part : '');
}
export const few = (v: number, unit: string) => si(+v.toPrecision(3)) + unit;
export const bytes = (n: number) => si(+n.toPrecision(4)).replace(/([a-zA-Zµ]?)$/, ' $1B');

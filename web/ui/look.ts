/* Colours and numbers, the same wherever they are shown. */

import palette from '../chart/palette.def';
import { isDark } from './theme';

/* The server's pictures have the same: a light and a dark one each; then steps of the hue. */
const base = [...palette.matchAll(/^X\(0x(\w+), 0x(\w+)\)/gm)].map(m => ['#' + m[1], '#' + m[2]]);
export const colour = (i: number) => i < base.length ? base[i][+isDark()] : `hsl(${i * 137.5 % 360} 60% ${isDark() ? 65 : 45}%)`;

const prefixes = ['f', 'p', 'n', 'µ', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];

/* Which power of 1000 makes 'v' 1 to 999; none is farther than its prefix. */
const power = (v: number) => v ? Math.max(-5, Math.min(6, Math.floor(Math.log10(Math.abs(v)) / 3 + 1e-12))) : 0;

/* Five digits, and more where values that are 'spread' apart would look the same; a prefix where there are too many. */
export function si(v: number | null | undefined, spread = 0): string {
  if (v == null || !Number.isFinite(v)) return '-';
  const digits = spread > 0 ? Math.max(5, Math.min(15, Math.ceil(Math.log10(Math.abs(v) / spread)) + 3)) : 5;
  const r = +v.toPrecision(digits), a = Math.abs(r), e = power(r);
  if (a < 1e4 && (a >= 1e-3 || a === 0) || a >= 1e21 || a < 1e-15) return String(r);
  return +(r / 1000 ** e).toPrecision(digits === 5 ? 4 : digits) + prefixes[e + 5];
}

/* A tick of an axis whose ticks are 'step' apart and at most 'largest': all have one prefix, and the digits that they need
 * (number_tick() of web/axis). */
export function tick(v: number, step: number, largest: number): string {
  const e = largest < 1e4 && largest >= 1e-3 ? 0 : power(largest), unit = 1000 ** e, s = step / unit;
  const digits = -Math.floor(Math.log10(s) + 1e-9);
  if (largest / unit >= 1e4 || largest / unit < 1e-4 || digits > 12) return String(+v.toPrecision(4));
  const exact = s * 10 ** digits, half = Math.abs(exact - Math.round(exact)) > 1e-6;   // 2.5 has a digit more than 1, 2, 5
  return Math.abs(v) < step * 1e-6 ? '0' : (v / unit).toFixed(Math.max(0, digits + +half)) + prefixes[e + 5];
}

/* "12,345.6", without the browser's tables of languages, which take a tenth of a second to load. */
export function count(n: number): string {
  const [whole, part] = String(n).split('.');
  return whole.replace(/\B(?=(\d{3})+$)/g, ',') + (part ? '.' + part : '');
}
export const few = (v: number, unit: string) => si(+v.toPrecision(3)) + unit;
export const bytes = (n: number) => si(+n.toPrecision(4)).replace(/([a-zA-Zµ]?)$/, ' $1B');

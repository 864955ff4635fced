/* Colours and numbers, the same wherever they are shown. */

/* The base colours are those that the colour-blind can tell apart (Okabe and Ito); then steps of the hue. */
const base = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#b3a100', '#7f7f7f'];
export const colour = (i: number) => i < base.length ? base[i] : `hsl(${Math.round(i * 137.5) % 360} 60% 50%)`;

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

export const count = (n: number) => n.toLocaleString('en');
export const bytes = (n: number) => si(n) + 'B';

/* Times: what OpenTSDB lets one write, zones, and how they are shown: 24 hours, ISO dates. */
export const units: Record<string, number> =
  { ms: 1e-3, s: 1, m: 60, h: 3600, d: 86400, w: 604800, n: 2592000, y: 31536000 };

/* Seconds of a duration, "90s" or "1w", which may begin a downsampling, "1dc-sum".  0 for everything that the server does not accept either. */
export function seconds(text: string): number {
  const m = /^(\d+)(ms|[smhdwny])(c?-.*)?$/i.exec(text);
  return m ? +m[1] * units[m[2].toLowerCase()] : 0;
}

/* Only named zones need this, which is slow. */
const formats = new Map<string, Intl.DateTimeFormat>();
function format(zone: string): Intl.DateTimeFormat {
  let f = formats.get(zone);
  if (!f) {
    const o: Intl.DateTimeFormatOptions = { hourCycle: 'h23', year: 'numeric', month: '2-digit', day: '2-digit',
                                            hour: '2-digit', minute: '2-digit', second: '2-digit' };
    try {
      f = new Intl.DateTimeFormat('en', { ...o, timeZone: zone });
    } catch {
      f = new Intl.DateTimeFormat('en', o);
    }
    formats.set(zone, f);
  }
  return f;
}

/* [year, month, day, hour, minute, second] on the wall of that zone; "" is the browser's. */
function wall(t: number, zone: string): number[] {
  if (!zone || zone === 'UTC') {
    const d = new Date((t + offset(t, zone)) * 1000);
    return [d.getUTCFullYear(), d.getUTCMonth() + 1, d.getUTCDate(), d.getUTCHours(), d.getUTCMinutes(), d.getUTCSeconds()];
  }
  const p: Record<string, number> = {};
  for (const x of format(zone).formatToParts(t * 1000)) p[x.type] = +x.value;
  return [p.year, p.month, p.day, p.hour, p.minute, p.second];
}

/* Seconds that the zone's wall clock is ahead of UTC. */
export function offset(t: number, zone: string): number {
  if (zone === 'UTC') return 0;
  if (!zone) return -60 * new Date(t * 1000).getTimezoneOffset();
  const [y, mo, d, h, mi, s] = wall(t, zone);
  return Date.UTC(y, mo - 1, d, h, mi, s) / 1000 - Math.floor(t);
}

/* "2026-11-23 19:05:09" */
export function stamp(t: number, zone: string): string {
  const d = new Date((t + offset(t, zone)) * 1000), ms = Math.round(t * 1000) % 1000;
  return d.toISOString().slice(0, 19).replace('T', ' ') + (ms ? '.' + String(ms).padStart(3, '0') : '');
}

/* From wall clock to seconds, across a change of the clock too. */
function fromWall(utc: number, zone: string): number {
  const guess = utc - offset(utc, zone);
  return utc - offset(guess, zone);
}

/* What a user or a link wrote: "1h-ago", "now", seconds, milliseconds, 2026/11/23-19:05:09, 19:05; NaN: none. */
export function absolute(text: string, now: number, zone: string): number {
  text = text.trim();
  if (!text || text === 'now') return now;
  const ago = /^(\d+[a-z]+)[- ]ago$/i.exec(text);
  if (ago) return now - (seconds(ago[1]) || NaN);
  /* Up to ten digits are seconds, which may have a fraction; more are milliseconds. */
  if (/^\d{1,10}(\.\d{1,3})?$/.test(text)) return +text;
  if (/^\d+$/.test(text)) return +text / 1000;
  const d = /^(?:(\d{4})[/-](\d\d?)[/-](\d\d?))?[- T]?(?:(\d\d?):(\d\d)(?::(\d\d(?:\.\d{1,3})?))?)?$/.exec(text);
  if (!d || (!d[1] && !d[4])) return NaN;
  const today = wall(now, zone), n = (i: number, other: number) => d[i] === undefined ? other : +d[i];
  return fromWall(Date.UTC(n(1, today[0]), n(2, today[1]) - 1, n(3, today[2]), n(4, 0), n(5, 0), n(6, 0)) / 1000, zone);
}

/* The same as the server reads it, which knows fewer forms and may be in another zone. */
export function forServer(text: string, now: number, zone: string): string {
  const t = /^(now|\d+(ms|[smhdwny])-ago|\d{10}|\d{13}|)$/i.test(text) ? NaN : absolute(text, now, zone);
  return Number.isNaN(t) ? text : String(Math.round(t * 1000));
}

/* And as it is shown: no bare numbers. */
export const shown = (text: string, zone: string) => /^\d{9,}(\.\d{1,3})?$/.test(text) && absolute(text, 0, zone) < 1e11 ? stamp(absolute(text, 0, zone), zone) : text;

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];

/* The step of "auto": at most 'points' buckets. */
export function autoStep(span: number, points: number): number {
  const least = span / Math.max(1, points);
  return steps.find(n => n >= least) || Math.ceil(least / 604800) * 604800;
}

export const interval = (step: number) => step % 3600 ? step % 60 ? step + 's' : step / 60 + 'm' : step / 3600 + 'h';

/* About 'most' ticks on round wall-clock times: the date where it changes, else the time. */
export function ticks(from: number, to: number, most: number, zone: string): { v: number; label: string }[] {
  const span = to - from, out: { v: number; label: string }[] = [];
  if (!(span > 0)) return out;
  if (span / most > 604800) return monthTicks(from, to, most, zone);
  const least = span / most, fine = [0.001, 0.01, 0.1, 0.5];
  const step = [...fine, ...steps].find(n => n >= least) || 604800;
  const shift = offset(from, zone), week = step === 604800 ? 345600 : 0;   // weeks begin on Mondays
  let day = '';
  for (let w = Math.ceil((from + shift - week) / step) * step + week; out.length < 100; w += step) {
    const t = step < 3600 ? w - shift : fromWall(w, zone);
    if (t > to) break;
    const s = stamp(t, zone), date = s.slice(5, 10), newDay = day !== date;
    day = date;
    out.push({ v: t * 1000, label: step >= 86400 ? date : (step < 60 ? s.slice(11) : s.slice(11, 16)) + (newDay ? '\n' + date : '') });
  }
  return out;
}

function monthTicks(from: number, to: number, most: number, zone: string) {
  const out: { v: number; label: string }[] = [], months = [1, 3, 6, 12, 24, 60, 120, 240];
  const every = months.find(n => n * 2592000 >= (to - from) / most) || 600;
  const [y0] = wall(from, zone);
  for (let m = 0; out.length < 100; m += every) {
    const t = fromWall(Date.UTC(y0, m, 1) / 1000, zone), s = stamp(t, zone);
    if (t > to) break;
    if (t >= from) out.push({ v: t * 1000, label: every < 12 ? s.slice(0, 7) : s.slice(0, 4) });
  }
  return out;
}

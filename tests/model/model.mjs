/*
 * A plain and slow model of a query's numbers: small iterators, one on top of
 * the other, each pulling single points from the one below.  It shares nothing
 * with query/: compare_numbers.mjs feeds both the same cases.
 *
 * A point is { ts, v }: ts in ms, v a BigInt (integer) or a Number (double).
 * Integers are 64 bits and wrap.
 */
export const UNITS = ['ms', 's', 'm', 'h', 'd', 'w', 'n', 'y'];
const UNIT_MS = [1, 1e3, 6e4, 36e5, 864e5, 6048e5, 2592e6, 31536e6];
const HOUR = 3600, TWO32 = 2 ** 32;
const LONG_MAX = 2n ** 63n - 1n, LONG_MIN = -(2n ** 63n);

const wrap = x => BigInt.asIntN(64, x);
const isInt = v => typeof v === 'bigint';
const toDouble = v => Number(v);

/* -- aggregators ----------------------------------------------------------- */

function truncate(d) {
  if (Number.isNaN(d))
    return 0n;
  if (d >= 2 ** 63)
    return LONG_MAX;
  return d <= -(2 ** 63) ? LONG_MIN : BigInt(Math.trunc(d));
}

function halfEven(x) {
  const f = Math.floor(x), part = x - f;
  if (part !== 0.5)
    return Math.round(x);
  return f % 2 === 0 ? f : f + 1;
}

const PLACES = {
  '': (p, n) => p * (n + 1),
  r3: (p, n) => p <= 0.5 / n ? 0 : halfEven(n * p),
  r7: (p, n) => 1 + (n - 1) * p,
};

/* Java's order of doubles: -0 comes before 0. */
const less = (a, b) => a < b || (Object.is(a, -0) && Object.is(b, 0));
const ascending = v => [...v].sort((a, b) => less(b, a) - less(a, b));

function percentile(values, p, type) {
  const v = ascending(values), n = v.length;
  const place = PLACES[type](p / 100, n), f = Math.floor(place);
  if (n === 1 || place < 1)
    return v[0];
  if (place >= n)
    return v[n - 1];
  return v[f - 1] + (place - f) * (v[f] - v[f - 1]);
}

function deviation(values) {
  let mean = 0, m2 = 0, n = 0;
  for (const x of values) {
    n++;
    const before = mean;
    mean = n === 1 ? x : before + (x - before) / n;
    if (n > 1)
      m2 += (x - before) * (x - mean);
  }
  return n === 1 ? 0 : Math.sqrt(m2 / n);
}

const fold = (v, f) => v.slice(1).reduce(f, v[0]);
const real = v => v.filter(x => !Number.isNaN(x));
/* What to do with those that are no NaN; nothing left gives NaN. */
const orNaN = f => v => real(v).length ? f(real(v)) : NaN;
const last = v => v[v.length - 1];
const median = v => ascending(v)[v.length >> 1];

const SUM = {
  int: v => wrap(v.reduce((a, b) => a + b, 0n)),
  double: orNaN(v => v.reduce((a, b) => a + b, 0)),
};
const MIN = {
  int: v => fold(v, (a, b) => b < a ? b : a),
  double: orNaN(v => { const m = fold(v, (a, b) => b < a ? b : a);
                       return m === Infinity ? NaN : m; }),
};
const MAX = {
  int: v => fold(v, (a, b) => b > a ? b : a),
  double: orNaN(v => { const m = fold(v, (a, b) => b > a ? b : a);
                       return m === -Infinity ? NaN : m; }),
};

function diffDoubles(v) {
  const i = v.findIndex(x => !Number.isNaN(x));
  if (i < 0)
    return NaN;
  return i === v.length - 1 ? 0 : last(v) - v[i];
}

export const AGGREGATORS = {
  sum: { ...SUM, gap: 'lerp' },
  zimsum: { ...SUM, gap: 'zero' },
  pfsum: { ...SUM, gap: 'prev' },
  min: { ...MIN, gap: 'lerp' },
  mimmin: { ...MIN, gap: 'max' },
  max: { ...MAX, gap: 'lerp' },
  mimmax: { ...MAX, gap: 'min' },
  range: {
    gap: 'lerp',
    int: v => wrap(fold(v, (a, b) => b > a ? b : a) - fold(v, (a, b) => b < a ? b : a)),
    double: orNaN(v => v.length === 1 ? 0 : fold(v, (a, b) => b > a ? b : a) - fold(v, (a, b) => b < a ? b : a)),
  },
  avg: {
    gap: 'lerp',
    int: v => SUM.int(v) / BigInt(v.length),
    double: orNaN(v => v.reduce((a, b) => a + b, 0) / v.length),
  },
  median: { gap: 'lerp', int: median, double: orNaN(median) },
  none: { gap: 'zero', int: v => v[0], double: v => v[0] },
  mult: {
    gap: 'lerp',
    int: v => wrap(v.reduce((a, b) => a * b, 1n)),
    double: v => fold(v, (a, b) => a * b),
  },
  dev: {
    gap: 'lerp',
    int: v => truncate(deviation(v.map(Number))),
    double: orNaN(deviation),
  },
  diff: {
    gap: 'lerp',
    int: v => v.length === 1 ? 0n : wrap(last(v) - v[0]),
    double: diffDoubles,
  },
  count: {
    gap: 'zero',
    int: v => BigInt(v.length),
    double: v => real(v).length,
  },
  squareSum: {
    gap: 'zero',
    int: v => wrap(v.reduce((a, b) => a + b * b, 0n)),
    double: orNaN(v => v.reduce((a, b) => a + b * b, 0)),
  },
  first: { gap: 'zero', int: v => v[0], double: v => v[0] },
  last: { gap: 'zero', int: last, double: last },
};
for (const p of [99.9, 99, 95, 90, 75, 50])
  for (const type of ['', 'r3', 'r7'])
    AGGREGATORS[(type ? 'ep' : 'p') + String(p).replace('.', '') + type] = {
      gap: 'lerp',
      int: v => truncate(percentile(v.map(Number), p, type)),
      double: orNaN(v => percentile(v, p, '')), /* whatever the type */
    };

/* -- the calendar ---------------------------------------------------------- */

const formats = new Map();

function offset(zone, utc) {
  if (zone === 'UTC')
    return 0;
  if (!formats.has(zone))
    formats.set(zone, new Intl.DateTimeFormat('en-US', {
      timeZone: zone, hourCycle: 'h23', era: 'short', year: 'numeric',
      month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric',
      second: 'numeric' }));
  const o = Object.fromEntries(formats.get(zone).formatToParts(new Date(utc))
    .map(p => [p.type, +p.value]));
  return Date.UTC(o.year, o.month - 1, o.day, o.hour, o.minute, o.second) -
    Math.floor(utc / 1000) * 1000;
}

/* Where the offset of a zone changes in a year of UTC: tried twice a day, then halved. */
const changes = new Map();

function changesOf(zone, year) {
  const key = `${zone} ${year}`;
  if (changes.has(key))
    return changes.get(key);
  const list = [], step = 432e5, end = Date.UTC(year + 1);
  for (let t = Date.UTC(year); t < end; t += step) {
    let a = t, b = t + step;
    const before = offset(zone, a), after = offset(zone, b);
    if (before === after)
      continue;
    while (b - a > 1000) {
      const middle = a + Math.floor((b - a) / 2000) * 1000;
      if (offset(zone, middle) === before)
        a = middle;
      else
        b = middle;
    }
    list.push({ at: b, before, after });
  }
  changes.set(key, list);
  return list;
}

/* The times of constant offset around a moment, a year and more to either side: { from, to, o }.
 * 'seen' is what the clock has shown before: a reading below it is shown once more. */
function stretches(zone, ts) {
  const year = new Date(ts).getUTCFullYear(), first = Date.UTC(year - 1), out = [];
  let from = first, o = offset(zone, first), seen = -Infinity;
  for (const c of [-1, 0, 1].flatMap(y => changesOf(zone, year + y))) {
    out.push({ from, to: c.at, o, seen });
    seen = Math.max(seen, c.at + o);
    from = c.at;
    o = c.after;
  }
  out.push({ from, to: Infinity, o, seen });
  return out;
}

/* When the clock first shows this reading, or a later one. */
function firstShown(zone, reading) {
  for (const s of stretches(zone, reading))
    if (s.to + s.o > reading)
      return Math.max(s.from, reading - s.o);
  throw new Error('unreachable');
}

const DAY = 864e5;

/* Buckets that follow the clock: they start whenever it shows a multiple of the length that it
 * has not shown before, or skips one; a bucket that is no longer than the time by which the
 * clock was put back starts once more.  Gives the bucket around a moment. */
function clockBucket(zone, ts, length) {
  let start = -Infinity, next = Infinity;
  for (const s of stretches(zone, ts)) {
    const back = s.seen - (s.from + s.o), again = back >= length;
    const least = again ? s.from + s.o : Math.max(s.seen, s.from + s.o);
    const starts = t => t >= s.from && t < s.to && t + s.o >= least;
    const at = Math.floor((ts + s.o) / length) * length - s.o;
    const first = Math.ceil(least / length) * length - s.o;
    /* The one before or at 'ts', the one after it, the first of all, and a skipped one. */
    for (const t of [at, at + length, first].filter(starts))
      if (t <= ts) start = Math.max(start, t);
      else next = Math.min(next, t);
    if (back < 0 && Math.ceil(s.seen / length) * length < s.from + s.o)
      if (s.from <= ts) start = Math.max(start, s.from);
      else next = Math.min(next, s.from);
  }
  return { start, next };
}

/* The number of a day's bucket, counted from that of 1970-01-01, and back to its first day. */
const NUMBERED = {
  d: { of: day => day, first: i => i },
  w: { of: day => Math.floor((day + 4) / 7), first: i => 7 * i - 4 },
  n: {
    of: day => { const d = new Date(day * DAY); return (d.getUTCFullYear() - 1970) * 12 + d.getUTCMonth(); },
    first: i => Date.UTC(1970, i, 1) / DAY,
  },
};

function dateBucket(zone, ts, n, kind) {
  const startOf = day => firstShown(zone, day * DAY);
  let day = Math.floor((ts + offset(zone, ts)) / DAY) + 2;
  while (startOf(day) > ts)
    day--;
  const i = Math.floor(kind.of(day) / n) * n, start = startOf(kind.first(i));
  let next = start;
  for (let k = n; next <= start; k += n)
    next = startOf(kind.first(i + k));
  return { start, next };
}

/* The bucket of 'n' units of the calendar around a moment. */
function calendarBucket(zone, ts, n, unit) {
  const name = UNITS[unit], length = n * UNIT_MS[unit];
  if (name === 'y')
    return dateBucket(zone, ts, 12 * n, NUMBERED.n);
  if (NUMBERED[name])
    return dateBucket(zone, ts, n, NUMBERED[name]);
  if (DAY % length === 0)
    return clockBucket(zone, ts, length);
  const first = firstShown(zone, 0), start = first + Math.floor((ts - first) / length) * length;
  return { start, next: start + length };
}

/* -- iterators: has(), next() ---------------------------------------------- */

export class PointsOf {
  constructor(points) {
    this.points = points;
    this.i = 0;
  }
  seek(ts) {
    this.i = this.points.findIndex(p => p.ts >= ts);
    if (this.i < 0)
      this.i = this.points.length;
  }
  has() {
    return this.i < this.points.length;
  }
  next() {
    return this.points[this.i++];
  }
  peek() {
    return this.points[this.i];
  }
}

/* The bucket of a moment: of equal length, or the calendar's. */
export function bucketOf(ds, ts) {
  if (ds.calendar)
    return calendarBucket(ds.zone, ts, ds.count, ds.unit);
  const start = ts - ts % ds.ms;
  return { start, next: start + ds.ms };
}

class Downsampler {
  constructor(points, ds, query) {
    /* Buckets of the calendar end where the query ends. */
    this.source = new PointsOf(ds.calendar ? points.filter(p => p.ts <= query.end) : points);
    this.ds = ds;
    this.query = query;
  }
  seek(ts) {
    if (this.ds.all) {
      this.source.seek(Math.max(ts, this.query.start));
      return;
    }
    const b = bucketOf(this.ds, ts);
    this.source.seek(b.start < ts ? b.next : b.start);
  }
  has() {
    if (this.ds.all)
      return this.source.has() && this.source.peek().ts < this.query.end;
    return this.source.has();
  }
  take(end) {
    const v = [];
    while (this.source.has() && this.source.peek().ts < end)
      v.push(toDouble(this.source.next().v));
    return AGGREGATORS[this.ds.aggregator].double(v);
  }
  next() {
    if (this.ds.all)
      return { ts: this.query.start, v: this.take(this.query.end) };
    const b = bucketOf(this.ds, this.source.peek().ts);
    return { ts: b.start, v: this.take(b.next) };
  }
}

class FillingDownsampler extends Downsampler {
  constructor(points, ds, query, scan) {
    super(points, ds, query);
    if (ds.all)
      return;
    this.expected = bucketOf(ds, scan.start).start;
    this.end = ds.calendar ? bucketOf(ds, query.end).next : bucketOf(ds, scan.end).start;
  }
  has() {
    return this.ds.all ? super.has() : this.expected < this.end;
  }
  next() {
    if (this.ds.all)
      return super.next();
    const ts = this.expected;
    while (this.source.has() && this.source.peek().ts < ts)
      this.source.next();
    const { next } = bucketOf(this.ds, ts);
    const hit = this.source.has() && this.source.peek().ts < next;
    this.expected = next;
    return { ts, v: hit ? this.take(next) : this.ds.fill === 'zero' ? 0 : NaN };
  }
}

class Rate {
  constructor(source, options) {
    this.source = source;
    this.options = options;
    this.last = { ts: 0, v: 0n };
    this.ready = undefined;
  }
  seek(ts) {
    this.source.seek(ts);
  }
  /* undefined: there is none between these two. */
  between(a, b) {
    const { counter, max, reset, drop } = this.options;
    const ints = isInt(a.v) && isInt(b.v), seconds = (b.ts - a.ts) / 1000;
    let d = ints ? toDouble(wrap(b.v - a.v)) : toDouble(b.v) - toDouble(a.v);
    if (!counter || !(d < 0))
      return d / seconds;
    if (drop)
      return undefined;
    d = ints ? toDouble(wrap(max - a.v + b.v))
      : toDouble(max) - toDouble(a.v) + toDouble(b.v);
    return reset > 0n && d / seconds > toDouble(reset) ? 0 : d / seconds;
  }
  has() {
    while (this.ready === undefined && this.source.has()) {
      const p = this.source.next(), v = this.between(this.last, p);
      if (p.ts <= this.last.ts)
        throw new RangeError('Next timestamp');
      this.last = p;
      if (v !== undefined)
        this.ready = { ts: p.ts, v };
    }
    return this.ready !== undefined;
  }
  next() {
    this.has();
    const p = this.ready;
    this.ready = undefined;
    return p;
  }
}

/* -- the group ------------------------------------------------------------- */

/* For each series the point that was read last and the one that comes next. */
export class Group {
  constructor(iterators, scan, aggregator, rate) {
    this.its = iterators;
    this.aggregator = aggregator;
    this.rate = rate;
    this.now = iterators.map(() => null);
    this.then = iterators.map(it => {
      it.seek(scan.start);
      while (it.has()) {
        const p = it.next();
        if (p.ts >= scan.start)
          return p;
      }
      return null;
    });
    if (!rate)
      return;
    for (let i = 0; i < iterators.length; i++) {
      if (iterators[i].has())
        this.move(i);
      else
        this.then[i] = null;
    }
  }
  move(i) {
    this.now[i] = this.then[i];
    this.then[i] = this.its[i].has() ? this.its[i].next() : null;
  }
  has() {
    return this.then.some(p => p !== null);
  }
  next() {
    this.then.forEach((p, i) => {
      if (p === null)
        this.now[i] = null;
    });
    this.ts = Math.min(...this.then.filter(p => p !== null).map(p => p.ts));
    this.then.forEach((p, i) => {
      if (p !== null && p.ts === this.ts)
        this.move(i);
    });
  }
  isInteger() {
    return !this.rate &&
      [...this.now, ...this.then].every(p => p === null || isInt(p.v));
  }
  valueInt(i) {
    const a = this.now[i], b = this.then[i];
    if (a.ts === this.ts)
      return a.v;
    switch (this.aggregator.gap) {
    case 'zero': return 0n;
    case 'max': return LONG_MAX;
    case 'min': return LONG_MIN;
    case 'prev': return a.v;
    }
    const area = wrap(BigInt(this.ts - a.ts) * wrap(b.v - a.v));
    return wrap(a.v + area / BigInt(b.ts - a.ts));
  }
  valueDouble(i) {
    const a = this.now[i], b = this.then[i], y0 = toDouble(a.v);
    if (a.ts === this.ts || this.rate)
      return y0;
    switch (this.aggregator.gap) {
    case 'zero': return 0;
    case 'max': return Number.MAX_VALUE;
    case 'min': return -Number.MAX_VALUE;
    case 'prev': return y0;
    }
    return y0 + (this.ts - a.ts) * (toDouble(b.v) - y0) / (b.ts - a.ts);
  }
  value() {
    const there = this.now.map((_, i) => i).filter(i => this.now[i] !== null);
    if (this.isInteger())
      return this.aggregator.int(there.map(i => this.valueInt(i)));
    const v = this.aggregator.double(there.map(i => this.valueDouble(i)));
    if (v === Infinity || v === -Infinity)
      throw new RangeError('Got Infinity');
    return v;
  }
}

/* -- the query ------------------------------------------------------------- */

/* The hours that are read, in seconds, the end left out. */
function scanRange(query, ds) {
  const length = ds && !ds.all ? ds.ms : 0;
  let start = Math.floor(query.start / 1000), end = Math.floor(query.end / 1000) + 1;
  if (length)
    start -= Math.floor(1000 * start % length / 1000);
  if (length && !ds.calendar) {
    end += Math.floor((length - 1000 * end % length) / 1000);
    return { start: start - start % HOUR, end: Math.ceil(end / HOUR) * HOUR };
  }
  return { start: start - start % HOUR, end: end - end % HOUR + HOUR };
}

/* Rows may reach beyond the scan. */
function taken(range, span) {
  return span[0].ts <= range.end * 1000 && span[span.length - 1].ts >= range.start * 1000;
}

/* { start, end, aggregator, ds, rate, spans } -> { from, to, taken, dps | error }; "whole"
 * gives all timestamps of the hours that were read, "taken" tells of each span if it was. */
export function run(query, whole = false) {
  const { ds, rate } = query, range = scanRange(query, ds);
  const scan = { start: range.start * 1000, end: range.end * 1000 };
  const most = Math.floor((TWO32 - 1) / HOUR) * HOUR;
  const from = Math.min(range.start, most);
  /* With explicit tags the row is read too at which others stop. */
  const more = query.explicit && query.filters.length > 0 ? HOUR : 0;
  const to = Math.max(from, Math.min(range.end - HOUR + more, most));
  const out = { from, to, dps: [] };
  const read = query.spans.map(s => s.filter(p => p.ts >= from * 1000 && p.ts < (to + HOUR) * 1000));
  out.taken = read.map(s => s.length > 0 && taken(range, s));
  const iterators = read
    .filter((_, i) => out.taken[i])
    .map(s => {
      let it = new PointsOf(s);
      if (ds)
        it = ds.fill === 'none' ? new Downsampler(s, ds, query)
          : new FillingDownsampler(s, ds, query, scan);
      return rate ? new Rate(it, rate) : it;
    });
  try {
    const g = new Group(iterators, scan, AGGREGATORS[query.aggregator], !!rate);
    while (g.has()) {
      g.next();
      if (!whole && (g.ts < query.start || g.ts > query.end))
        continue;
      const v = g.value();
      out.dps.push({ ts: g.ts, v: Number.isNaN(v) && ds && ds.fill === 'null' ? null : v });
    }
  } catch (e) {
    if (!(e instanceof RangeError))
      throw e;
    out.error = e.message;
  }
  return out;
}

/* One query as OpenTSDB's m= writes it: agg:[downsample:][rate:][more:]metric{tags}. */
export interface Sub {
  agg: string;
  ds: string;      // "5m-avg-none"; "auto" is ours: as fine as the screen; "" is none
  rate: string;    // "", "rate" or "rate{counter,..}"
  more: string;    // other words: percentiles[..], explicit_tags, ..
  metric: string;
  tags: string;    // between the first brace and the last: "host=*}{dc=ams" has group-by and plain filters
  right: boolean;  // on the right axis
}

export const newSub = (s: Partial<Sub> = {}): Sub =>
  ({ agg: 'avg', ds: 'auto', rate: '', more: '', metric: '', tags: '', right: false, ...s });

/* Where the first of 'any' is outside of brackets, or the length; -1 if a bracket has no partner.  The same scanner as the server's (query/parse/nesting.c):
 * within parentheses a backslash makes the next letter a plain one, and within [] only [ and ] are brackets. */
export function nestingFind(text: string, any: string): number {
  const open: string[] = [];
  for (let i = 0; i < text.length; i++) {
    const c = text[i], top = open[open.length - 1], closer = { '(': ')', '[': ']', '{': '}' }[c];
    if (!open.length && any.includes(c)) return i;
    if (c === '\\' && open.includes(')')) i++;
    else if (c === top) open.pop();
    else if (top === ']' && c !== '[') continue;
    else if (closer) { if (open.push(closer) > 64) return -1; }
    else if (')]}'.includes(c)) return -1;
  }
  return open.length ? -1 : text.length;
}

/* As the server: a word that begins with a digit; if its unit is none, the server says so. */
const isDownsample = (word: string) => word === 'auto' || /^\d[^-]*-/.test(word);
const isOption = (word: string) => /^(rate|percentiles|show-histogram-buckets|pre-agg|explicit_tags|rollup_)/.test(word);

/* Words end with a colon, and may have braces; the first that is none of an option begins the metric, of which the rest is. */
export function parseM(text: string, o = ''): Sub {
  const s = newSub({ agg: 'sum', ds: '', right: o.includes('x1y2') });
  let rest = text;
  for (let i = 0; ; i++) {
    const found = nestingFind(rest, ':'), at = found < 0 ? rest.indexOf(':') : found;
    if (at < 0 || at === rest.length) break;
    const w = rest.slice(0, at);
    if (!i) s.agg = w;
    else if (isDownsample(w)) s.ds = w;
    else if (w.startsWith('rate')) s.rate = w;
    else if (isOption(w)) s.more = s.more ? s.more + ':' + w : w;
    else break;
    rest = rest.slice(at + 1);
  }
  const brace = rest.indexOf('{');
  return brace < 0 || !rest.endsWith('}') ? { ...s, metric: rest } : { ...s, metric: rest.slice(0, brace), tags: rest.slice(brace + 1, -1) };
}

/* Parts of tags, each with what separates it from the one before: "", "," or "}{".  What is in brackets is a value's; in the part that is being written a
 * bracket may be open yet. */
function parts(tags: string): [string, string][] {
  const out: [string, string][] = [];
  for (let by = '', rest = tags; ; ) {
    let at = nestingFind(rest, ',}');
    if (at < 0) at = /^(?:(?!\}\{)[^,])*/.exec(rest)![0].length;
    if (rest[at] === '}' && rest[at + 1] !== '{') at = rest.length;
    out.push([by, rest.slice(0, at)]);
    if (at === rest.length) return out;
    by = rest[at] === '}' ? '}{' : ',';
    rest = rest.slice(at + by.length);
  }
}
export const lastTag = (tags: string) => parts(tags).pop()![1];

/* "host=*,dc=a|b}{rack=regexp(r\d{1,2})": those that group, and those that do not. */
export function tagList(tags: string): [string[], string[]] {
  const all = parts(tags), end = all.findIndex(p => p[0] === '}{'), texts = (some: [string, string][]) => some.map(p => p[1]).filter(Boolean);
  return end < 0 ? [texts(all), []] : [texts(all.slice(0, end)), texts(all.slice(end))];
}
export const joinTags = (by: string[], plain: string[]) => by.join(',') + (plain.length ? '}{' + plain.join(',') : '');
/* One of a value as it is. */
export const tagOf = (k: string, v: string) => `${k}=${/[,(){}*]/.test(v) ? `literal_or(${v})` : v}`;

/* A tag's filter as JSON has it. */
export interface Filter { type: string; tagk: string; filter: string; groupBy: boolean }
export const filtersOf = (s: Sub): Filter[] => tagList(s.tags).flatMap((all, k) => all.map(t => {
  const at = t.indexOf('='), v = t.slice(at + 1), f = /^(\w+)\((.*)\)$/.exec(v);
  return { type: f ? f[1] : v === '*' ? 'wildcard' : v.includes('*') ? 'iwildcard' : 'literal_or', tagk: t.slice(0, at), filter: f ? f[2] : v, groupBy: k === 0 };
}));

/* Can a formula say it?  The brackets must match, and '=' stands in a value only within them.  A metric with a colon, where the server allows these, must
 * not begin like an option. */
export function isSayable(s: Sub): boolean {
  const values = tagList(s.tags).flat().map(t => t.slice(t.indexOf('=') + 1)), [first, more] = s.metric.split(':', 2);
  return nestingFind(printM(s), '') >= 0 && !/[{}]/.test(s.metric) && !(more !== undefined && (isDownsample(first) || isOption(first))) &&
    values.every(v => nestingFind(v, ',}=') === v.length);
}
/* Can m= say it on any server?  One that allows no colons in names passes over the words before the last colon, as OpenTSDB does. */
export const isPlain = (s: Sub) => isSayable(s) && !s.metric.includes(':');

/* The same as JSON. */
export function jsonOf(s: Sub, downsample: string): Record<string, unknown> {
  const rate = /^rate\{([^,}]*),?([^,}]*),?([^,}]*)\}$/.exec(s.rate), has = (word: string) => s.more.includes(word);
  const percentiles = /percentiles\[([^\]]*)\]/.exec(s.more), usage = /rollup_\w+/i.exec(s.more);
  return {
    metric: s.metric, aggregator: s.agg, filters: filtersOf(s), downsample: downsample || undefined, rate: !!s.rate,
    ...(rate ? { rateOptions: { counter: rate[1].endsWith('counter'), dropResets: rate[1] === 'dropcounter', counterMax: rate[2] || undefined, resetValue: rate[3] || undefined } } : {}),
    explicitTags: has('explicit_tags'), preAggregate: has('pre-agg'), showHistogramBuckets: has('show-histogram-buckets'),
    percentiles: percentiles?.[1].split(',').map(Number), rollupUsage: usage?.[0],
  };
}

export const printM = (s: Sub, ds = s.ds): string =>
  [s.agg, ds, s.rate, s.more].filter(Boolean).join(':') + ':' + s.metric + (s.tags ? `{${s.tags}}` : '');

/* A to Z, then AA, AB .. */
export const letter = (i: number): string => (i < 26 ? '' : letter(Math.floor(i / 26) - 1)) + String.fromCharCode(65 + i % 26);

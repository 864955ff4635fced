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

const isDownsample = (word: string) => word === 'auto' || /^(\d+(ms|[smhdwny])c?|0all)-/.test(word);
const isOption = (word: string) => /^(rate|percentiles|show-histogram-buckets|pre-agg|explicit_tags|rollup_)/.test(word);

/* Words end with a colon, and may have braces; the first that is none of an option begins the metric, of which the rest is. */
export function parseM(text: string, o = ''): Sub {
  const s = newSub({ agg: 'sum', ds: '', right: o.includes('x1y2') });
  let rest = text;
  for (let i = 0; ; i++) {
    const m = /^([^:{}[\]]*(?:\{[^{}]*\}|\[[^[\]]*\])?):/.exec(rest);
    if (!m) break;
    const w = m[1];
    if (!i) s.agg = w;
    else if (isDownsample(w)) s.ds = w;
    else if (w.startsWith('rate')) s.rate = w;
    else if (isOption(w)) s.more = s.more ? s.more + ':' + w : w;
    else break;
    rest = rest.slice(m[0].length);
  }
  const brace = rest.indexOf('{');
  return brace < 0 || !rest.endsWith('}') ? { ...s, metric: rest } : { ...s, metric: rest.slice(0, brace), tags: rest.slice(brace + 1, -1) };
}

/* Parts of tags, each behind what separates it; what is in parentheses is a value's. */
const TAG = /(\}\{|,|^)((?:\((?:[^()]|\([^()]*\))*\)|(?!\}\{)[^,])*)/g;
export const lastTag = (tags: string) => [...tags.matchAll(TAG)].pop()![2];

/* "host=*,dc=a|b}{rack=regexp(r\d{1,2})": those that group, and those that do not. */
export function tagList(tags: string): [string[], string[]] {
  const parts = [...tags.matchAll(TAG)], end = parts.findIndex(p => p[1] === '}{'), texts = (all: RegExpMatchArray[]) => all.map(p => p[2]).filter(Boolean);
  return end < 0 ? [texts(parts), []] : [texts(parts.slice(0, end)), texts(parts.slice(end))];
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

/* Can m= say it?  It ends metrics at a colon, and tags at a comma or a brace, wherever these stand. */
export const isPlain = (s: Sub) => !/[:{}]/.test(s.metric) && filtersOf(s).every(f => !/[:{},=]/.test(f.filter));

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

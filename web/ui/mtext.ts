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

export function parseM(text: string, o = ''): Sub {
  const brace = text.search(/\{[^{}]*\}(\{[^{}]*\})?$/);
  const head = brace < 0 ? text : text.slice(0, brace), words = head.split(/:(?![^{[]*[}\]])/);
  const s = newSub({ agg: words.length > 1 ? words[0] : 'sum', metric: words[words.length - 1], ds: '',
                     tags: brace < 0 ? '' : text.slice(brace + 1, -1), right: o.includes('x1y2') });
  for (const w of words.slice(1, -1))
    if (w.startsWith('rate')) s.rate = w;
    else if (isDownsample(w)) s.ds = w;
    else s.more = s.more ? s.more + ':' + w : w;
  return s;
}

export const printM = (s: Sub, ds = s.ds): string =>
  [s.agg, ds, s.rate, s.more, s.metric].filter(Boolean).join(':') + (s.tags ? `{${s.tags}}` : '');

export const letter = (i: number) => String.fromCharCode(65 + i);

/* What the server suggests for a field: names that hold the text anywhere, the most series first. */
import { json } from './api';
import { count } from './look';
import { lastTag, tagList, tagOf } from './mtext';
import { Choice, SUGGESTIONS } from './suggest';

export interface Name { name: string; series: number }

export const names = (p: Record<string, string>, signal?: AbortSignal, max = SUGGESTIONS): Promise<Name[]> =>
  json('api/suggest?counts&' + new URLSearchParams({ max: String(max), ...p }), { signal });

export async function metrics(q: string, signal: AbortSignal): Promise<Choice[]> {
  return (await names({ type: 'metrics', q }, signal)).map(n => ({ value: n.name, note: count(n.series) + ' series' }));
}

/* Of "host=*,dc=a" the last part is completed: first a key, then its value, of series that have the parts before. */
export const tags = (metric: string) => async (text: string, signal: AbortSignal): Promise<Choice[]> => {
  const part = lastTag(text), head = text.slice(0, text.length - part.length);
  if (!metric || part.includes('(')) return [];
  const had = tagList(head).flat().filter(t => /^[^=]+=[^()]+$/.test(t)).join(',');
  const p = { metric, ...(had ? { tags: had } : {}) }, equals = part.indexOf('=');
  if (equals < 0) {
    const keys = await names({ type: 'tagk', q: part, ...p }, signal), used = new Set(had.split(',').map(t => t.split('=')[0]));
    return keys.filter(k => !used.has(k.name)).map(k => ({ value: `${head}${k.name}=*`, note: count(k.series) + ' series' }));
  }
  const tagk = part.slice(0, equals), q = part.slice(equals + 1).replace(/^.*\|/, '').replace('*', '');
  const kept = /^(.*\|)/.exec(part.slice(equals + 1))?.[1] || '';
  return (await names({ type: 'tagv', tagk, q, ...p }, signal))
    .map(v => ({ value: head + (kept ? `${tagk}=${kept}${v.name}` : tagOf(tagk, v.name)), note: count(v.series) + ' series' }));
};

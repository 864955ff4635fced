/* What the server suggests for a field. */
import { json } from './api';
import { count } from './look';
import { Choice, SUGGESTIONS } from './suggest';

const suggest = (p: Record<string, string>, signal: AbortSignal): Promise<any[]> =>
  json('api/suggest?' + new URLSearchParams({ max: String(SUGGESTIONS), ...p }), { signal });

export async function metrics(q: string, signal: AbortSignal): Promise<Choice[]> {
  return (await suggest({ type: 'metrics', q }, signal)).map(value => ({ value, note: '' }));
}

/* Of "host=*,dc=a" the last part is completed: first a key, then its value. */
export const tags = (metric: string) => async (text: string, signal: AbortSignal): Promise<Choice[]> => {
  if (!metric) return [];
  const cut = Math.max(text.lastIndexOf(','), text.lastIndexOf('{')) + 1, head = text.slice(0, cut), part = text.slice(cut);
  const { results, totalResults } = await json('api/search/lookup?limit=1000&m=' + encodeURIComponent(metric), { signal });
  const pairs = new Map<string, number>(), keys = new Map<string, Set<string>>();
  for (const r of results)
    for (const [k, v] of Object.entries<string>(r.tags)) {
      pairs.set(k + '=' + v, (pairs.get(k + '=' + v) || 0) + 1);
      if (!keys.has(k)) keys.set(k, new Set());
      keys.get(k)!.add(v);
    }
  return [...[...keys].map(([k, v]) => ({ value: k + '=*', note: count(v.size) + ' values' })),
          ...[...pairs].map(([k, n]) => ({ value: k, note: count(n) + ' of ' + count(totalResults) }))]
    .filter(c => c.value.includes(part)).map(c => ({ ...c, value: head + c.value }));
};

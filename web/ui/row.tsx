/* One query: its parts to click together, and its m= text beside them. */
import { h } from 'preact';
import { letter, newSub, parseM, printM, Sub } from './mtext';
import { metrics, tags } from './names';
import { Suggest } from './suggest';

export const text = (e: Event) => (e.currentTarget as HTMLInputElement).value;
export const ticked = (e: Event) => (e.currentTarget as HTMLInputElement).checked;

interface Props { key?: number; s: Sub; i: number; aggs: string[]; error: string | null; set(s: Sub): void; drop(): void; copy(): void }

const intervals = ['auto', '', '10s-avg', '1m-avg', '5m-avg', '1h-avg', '1h-max', '1h-sum', '1d-avg'];

export function Row({ s, i, aggs, error, set, drop, copy }: Props) {
  const has = !aggs.includes(s.agg);
  return <div class="sub" role="group" aria-label={'query ' + letter(i)}>
    <b class="letter">{letter(i)}</b>
    <select aria-label="aggregator" value={s.agg} onChange={e => set({ ...s, agg: text(e) })}>
      {has && <option>{s.agg}</option>}{aggs.map(a => <option selected={a === s.agg}>{a}</option>)}</select>
    <Suggest label="metric" value={s.metric} look={metrics} pick={metric => set({ ...s, metric })} />
    <Suggest label="tags" class="tags" value={s.tags} look={tags(s.metric)} pick={t => set({ ...s, tags: t })} />
    <input aria-label="downsample" class="short" list="intervals" value={s.ds} placeholder="raw" onChange={e => set({ ...s, ds: text(e) })} />
    <label><input type="checkbox" checked={!!s.rate} onChange={e => set({ ...s, rate: ticked(e) ? 'rate' : '' })} />rate</label>
    <label><input type="checkbox" checked={s.right} onChange={e => set({ ...s, right: ticked(e) })} />right axis</label>
    <input aria-label="m= text" class="mtext" value={printM(s)} spellCheck={false}
      onChange={e => set({ ...parseM(text(e)), right: s.right })} />
    <button aria-label={'copy query ' + letter(i)} title="copy" onClick={copy}>⧉</button>
    <button aria-label={'remove query ' + letter(i)} title="remove" onClick={drop}>×</button>
    {error && <span class="err" role="alert">{error}</span>}
  </div>;
}

export const Intervals = () => <datalist id="intervals">{intervals.map(v => <option value={v} />)}</datalist>;
export const blank = () => newSub();

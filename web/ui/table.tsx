/* The numbers of the graph as a table: the newest first. */
import { h } from 'preact';
import { Series } from './data';
import { stamp } from './time';

const ROWS = 500;

/* Times of all series, the newest first, and each one's values then. */
export function rows(series: Series[], most = ROWS): [number, number[]][] {
  const at = new Map<number, number[]>();
  series.forEach((s, i) => s.xs.forEach((t, k) => {
    if (s.ys[k] !== s.ys[k]) return;
    let r = at.get(t);
    if (!r) at.set(t, r = new Array(series.length).fill(NaN));
    r[i] = s.ys[k];
  }));
  return [...at].sort((a, b) => b[0] - a[0]).slice(0, most);
}

export function Table({ series, zone }: { series: Series[]; zone: string }) {
  const all = rows(series);
  return <div class="tbl" tabIndex={0} role="region" aria-label="table"><table>
    <thead><tr><th scope="col">time</th>{series.map(s => <th scope="col">{s.name}</th>)}</tr></thead>
    <tbody>{all.map(([t, v]) => <tr><th scope="row">{stamp(t, zone)}</th>{v.map(x => <td>{x === x ? String(x) : '-'}</td>)}</tr>)}</tbody></table>
    {all.length === ROWS && <p>The newest {ROWS} times; CSV has all.</p>}</div>;
}

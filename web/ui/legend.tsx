/* The series, with their statistics, which the keyboard and a screen reader find too. */
import { Component, h } from 'preact';
import { at, Series, Stats, stats } from './data';
import { count, si } from './look';

export interface Entry { s: Series; st: Stats; colour: string; on: boolean }
interface Props {
  entries: Entry[]; sort: string; hidden: number;
  hover: { t: number | null; near: string | null };
  setSort(sort: string): void;
  toggle(name: string, many: boolean): void;
  point(name: string | null): void;
  split(sub: number, key: string): void;
  more(): void;
}

const columns: [keyof Stats, string][] = [['min', 'min'], ['avg', 'avg'], ['max', 'max'], ['last', 'last'], ['points', 'points']];

/* Sorted by a column of the statistics, or as they came. */
export function sorted(series: Series[], sort: string): { s: Series; st: Stats }[] {
  const all = series.map(s => ({ s, st: stats(s) })), up = sort.startsWith('-'), key = (up ? sort.slice(1) : sort) as keyof Stats | 'name';
  if (key === 'name') return all.sort((a, b) => (a.s.name < b.s.name ? -1 : 1) * (up ? -1 : 1));
  if (!columns.some(([k]) => k === key)) return all;
  const value = (x: Stats) => Number.isNaN(x[key as keyof Stats]) ? -Infinity : x[key as keyof Stats];
  return all.sort((a, b) => (value(b.st) - value(a.st)) * (up ? -1 : 1));
}

/* What all series have in common is said once. */
export function common(series: Series[]): [string, string][] {
  if (series.length < 2) return [];
  return Object.entries(series[0].tags).filter(([k, v]) => series.every(s => s.tags[k] === v));
}

const AT_ONCE = 30;

export class Legend extends Component<Props, { rows: number }> {
  state = { rows: AT_ONCE };
  private later = 0;
  /* Many rows are made in several tasks. */
  private grow() {
    if (this.state.rows >= this.props.entries.length) return;
    clearTimeout(this.later);
    this.later = window.setTimeout(() => this.setState({ rows: this.state.rows + AT_ONCE }));
  }
  componentDidMount() { this.grow(); }
  componentDidUpdate() { this.grow(); }
  componentWillUnmount() { clearTimeout(this.later); }
  render() {
    const p = this.props, shared = common(p.entries.map(e => e.s)), skip = new Set(shared.map(([k]) => k));
    const metrics = new Set(p.entries.map(e => e.s.metric));
    const head = (key: string, label: string) => {
      const sort = p.sort === key ? 'descending' : p.sort === '-' + key ? 'ascending' : 'none';
      return <th scope="col" aria-sort={sort}><button class="plain" onClick={() => p.setSort(p.sort === key ? '-' + key : key)}>
        {label}{sort === 'descending' ? ' ▾' : sort === 'ascending' ? ' ▴' : ''}</button></th>;
    };
    const label = (s: Series) => {
      const own = Object.keys(s.tags).filter(k => !skip.has(k)).sort().map(k => k + '=' + s.tags[k]).join(' ');
      return (s.name.startsWith(s.metric) ? '' : s.name.slice(0, s.name.indexOf(' ') + 1)) + (metrics.size > 1 || !own ? s.metric + ' ' : '') + own;
    };
    const keys = new Map<string, number>();
    p.entries.forEach(e => e.s.merged.forEach(k => keys.set(k, e.s.sub)));
    return <section aria-label="legend">
      {keys.size > 0 && <p class="split">{[...keys].slice(0, 12).map(([k, sub]) =>
        <button onClick={() => p.split(sub, k)}>split by {k}</button>)}</p>}
      <table class="legend"><thead><tr>{head('name', 'series')}<th scope="col">at cursor</th>{columns.map(([k, l]) => head(k, l))}</tr></thead>
        <tbody>{p.entries.slice(0, this.state.rows).map(({ s, st, colour, on }) => {
          const j = p.hover.t == null ? -1 : at(s, p.hover.t), num = (v: number) => si(v, st.max - st.min);
          return <tr class={(on ? '' : 'off ') + (p.hover.near === s.name + s.old ? 'near' : '')} tabIndex={0} role="button" aria-pressed={String(on)}
            title="click: this one alone; with ctrl: show or hide" data-name={s.name}
            onClick={e => p.toggle(s.name, e.ctrlKey || e.metaKey)}
            onKeyDown={e => { if (e.key === 'Enter' || e.key === ' ') { e.preventDefault(); p.toggle(s.name, e.ctrlKey); } }}
            onMouseEnter={() => p.point(s.name + s.old)} onMouseLeave={() => p.point(null)}>
            <td><i class={s.old ? 'old' : ''} style={{ background: colour }} />{label(s)}{s.old && <small> (before)</small>}{s.right && <small> (right)</small>}
              {s.merged.length > 0 && <small title="of several series; between its points each is taken on a straight line"> ~</small>}</td>
            <td>{j < 0 ? '' : num(s.ys[j])}</td><td>{num(st.min)}</td><td>{num(st.avg)}</td><td>{num(st.max)}</td><td>{num(st.last)}</td><td>{st.points}</td></tr>;
        })}</tbody></table>
      {shared.length > 0 && <p class="common"><small>all: {(metrics.size === 1 ? [...metrics][0] + ' ' : '') + shared.map(([k, v]) => k + '=' + v).join(' ')}</small></p>}
      {p.hidden > 0 && <p role="status">{p.entries.length} of {count(p.entries.length + p.hidden)} series drawn
        <button onClick={p.more}>100 more</button></p>}
    </section>;
  }
}

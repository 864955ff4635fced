/* What changed?  Each tag value's mean in this window against the window before it: one grouped query a tag key. */
import { Component, h } from 'preact';
import { aborted, Latest } from './api';
import { Ask } from './ask';
import { answer, Range, request } from './data';
import { few, si } from './look';
import { joinTags, letter, Sub, tagList } from './mtext';
import { names } from './names';

export interface Change { key: string; value: string; before: number; after: number; score: number }
interface Props { a: Ask; r: Range; pick(i: number, key: string, value: string): void; close(): void }
interface State { i: number; list: Change[] | null; error: string; wait: boolean }

const KEYS = 8;

/* One number a value of 'key': its mean over the range. */
async function means(s: Sub, key: string, r: Range, signal: AbortSignal): Promise<Map<string, number>> {
  const filters = tagList(s.tags).flat().filter(t => !t.startsWith(key + '=') && !t.endsWith('=*'));
  const by: Sub = { ...s, agg: 'avg', tags: joinTags([key + '=*'], filters) };
  const q = request(String(Math.floor(r.from * 1000)), String(Math.ceil(r.to * 1000)), '', [[by, '0all-avg']], ['arrays', 'ms']);
  const out = new Map<string, number>();
  for (const g of await answer(q, signal)) if (g.dps?.length && typeof g.dps[0][1] === 'number') out.set(g.tags[key], g.dps[0][1]);
  return out;
}

/* The largest changes first, by what they are of what was. */
export function rank(key: string, before: Map<string, number>, after: Map<string, number>): Change[] {
  return [...new Set([...before.keys(), ...after.keys()])].map(value => {
    const b = before.get(value) ?? NaN, n = after.get(value) ?? NaN;
    const score = b !== b || n !== n ? Infinity : Math.abs(n - b) / (Math.max(Math.abs(b), Math.abs(n)) || 1);
    return { key, value, before: b, after: n, score };
  });
}

export class Changed extends Component<Props, State> {
  state: State = { i: 0, list: null, error: '', wait: false };
  private latest = new Latest();
  componentDidMount() { this.ask(); }
  componentDidUpdate(old: Props, was: State) {
    if (old.r.from !== this.props.r.from || old.r.to !== this.props.r.to || was.i !== this.state.i) this.ask();
  }
  componentWillUnmount() { this.latest.stop(); }

  private async ask() {
    const { a, r } = this.props, s = a.subs[this.state.i], signal = this.latest.next();
    if (!s?.metric) return;
    this.setState({ wait: true, error: '' });
    try {
      const keys = await names({ type: 'tagk', metric: s.metric }, signal, KEYS), span = r.to - r.from, list: Change[] = [];
      for (const { name } of keys) {
        const [now, then] = await Promise.all([means(s, name, r, signal), means(s, name, { from: r.from - span, to: r.from }, signal)]);
        list.push(...rank(name, then, now));
      }
      this.setState({ wait: false, list: list.sort((p, q) => q.score - p.score).slice(0, 25) });
    } catch (e) {
      if (!aborted(e)) this.setState({ wait: false, error: (e as Error).message });
    }
  }
  render() {
    const { a, pick, close } = this.props, { i, list, error, wait } = this.state;
    return <section aria-label="what changed" class="panel"><h2>What changed? <small>this window against the one before</small>
      <button class="plain close" aria-label="close" onClick={close}>×</button></h2>
      {a.subs.length > 1 && <p>{a.subs.map((_, k) => <button class={k === i ? 'on' : ''} onClick={() => this.setState({ i: k })}>{letter(k)}</button>)}</p>}
      {error && <p class="err" role="alert">{error}</p>}{wait && <p role="status">asking…</p>}
      {list && <table class="changes"><thead><tr>{['tag', 'before', 'now', 'change'].map(t => <th scope="col">{t}</th>)}</tr></thead>
        <tbody>{list.map(c => <tr><td><button class="plain" onClick={() => pick(i, c.key, c.value)}>{c.key}={c.value}</button></td>
          <td>{si(c.before)}</td><td>{si(c.after)}</td>
          <td>{c.score === Infinity ? c.after !== c.after ? 'gone' : 'new' : (c.after >= c.before ? '+' : '') + few((c.after - c.before) / (Math.abs(c.before) || 1) * 100, ' %')}</td></tr>)}</tbody></table>}
    </section>;
  }
}

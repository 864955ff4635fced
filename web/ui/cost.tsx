/* What the queries have cost, what else is running, and what was slow. */
import { Component, h } from 'preact';
import { ask, json } from './api';
import { Answer, Forecast } from './data';
import { bytes, count } from './look';
import { letter } from './mtext';

interface Running { id: number; text: string; remote: string; since: number; ms: number; rows: number }
interface State { running: Running[]; slow: Running[]; error: string }

const textOf = (q: any) => (q.query?.queries || []).map((s: any) =>
  [s.aggregator, s.downsample, s.rate ? 'rate' : '', s.metric || (s.tsuids || []).join(',')].filter(Boolean).join(':') +
  ((s.filters || []).length ? '{' + s.filters.map((f: any) => `${f.tagk}=${f.filter}`).join(',') + '}' : '')).join(' ');

const runningOf = (q: any): Running => ({
  id: q.id,   text: textOf(q), remote: q.remote, since: q.queryStartTimestamp, ms: q.stats?.totalTime ?? Date.now() - q.queryStartTimestamp, rows: q.stats?.rowsFromStorage || 0,
});

export class Queries extends Component<{}, State> {
  state: State = { running: [], slow: [], error: '' };
  private timer = 0;
  componentDidMount() { this.look(); this.timer = window.setInterval(() => { if (!document.hidden) this.look(); }, 2000); }
  componentWillUnmount() { clearInterval(this.timer); }
  private look = async () => {
    try {
      const s = await json('api/stats/query?slowest');
      this.setState({ error: '', running: s.running.map(runningOf), slow: s.slowest.map(runningOf) });
    } catch (e) {
      this.setState({ error: (e as Error).message });
    }
  };
  private stop = async (id: number) => {
    try {
      await ask('api/stats/query?id=' + id, { method: 'DELETE' });
      await this.look();
    } catch (e) {
      this.setState({ error: (e as Error).message });
    }
  };
  render() {
    const { running, slow, error } = this.state;
    const table = (all: Running[], stop: boolean) => <table><thead><tr><th scope="col">query</th><th scope="col">client</th><th scope="col">rows</th><th scope="col">ms</th></tr></thead>
      <tbody>{all.map(q => <tr><td>{stop && <button onClick={() => this.stop(q.id)}>stop</button>} {q.text}</td><td>{q.remote}</td><td>{count(q.rows)}</td><td>{count(Math.round(q.ms * 10) / 10)}</td></tr>)}</tbody></table>;
    return <div>{error && <p class="err" role="alert">{error}</p>}
      <h3>Running</h3>{running.length ? table(running, true) : <p>no other query</p>}
      <h3>Slowest of the last hour</h3>{table(slow, false)}</div>;
  }
}

export function CostPanel({ ans, before, close }: { ans: Answer | null; before: Forecast | null; close(): void }) {
  return <section aria-label="explain" class="panel"><h2>What it costs <button class="plain close" aria-label="close" onClick={close}>×</button></h2>
    {before && <p class="before">Before: {count(before.series)} series, {count(before.rows)} rows, {count(before.seeks)} seeks at most.
      {before.cheaper.map((c, i) => c && ` ${letter(i)} is cheaper as ${c}.`)}</p>}
    <table><thead><tr>{['query', 'series', 'rows', 'seeks', 'bytes', 'points', 'time', 'plan'].map(t => <th scope="col">{t}</th>)}</tr></thead>
      <tbody>{ans && ans.costs.map((c, i) => c && <tr><td>{letter(i)}</td><td>{count(c.series)}</td><td>{count(c.rows)}</td><td>{count(c.seeks)}</td><td>{bytes(c.bytes)}</td>
        <td>{count(c.points)}</td><td>{c.ms.map(([k, v]) => `${k} ${v} ms`).join(', ')}</td><td class="wrap">{c.plan}</td></tr>)}</tbody></table>
    <Queries /></section>;
}

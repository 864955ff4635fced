/* How the server itself is. */
import { Component, h } from 'preact';
import { ask, json } from './api';
import { Queries } from './cost';
import { bytes, count, few } from './look';
import { Retention } from './retention';
import { stamp } from './time';

type Figures = Map<string, number>;
interface Range { oldest?: number; newest?: number }
interface Member { name: string; address: string; mode: string; live: boolean; buckets: number; walBytes: number; started: number; version: string }
interface Cluster { self: string; buckets: number; unowned: number; members: Member[] }
interface State { now: Figures; last: Figures; at: number; before: number; range: Range; cluster: Cluster | null; status: string; error: string }

/* Lines of Prometheus' text form. */
export function parse(text: string): Figures {
  const out: Figures = new Map();
  for (const line of text.split('\n')) {
    const m = /^([a-z_]+(?:\{.*\})?) (\S+)$/.exec(line);
    if (m) out.set(m[1], +m[2]);
  }
  return out;
}
const LOOK_MS = 3000;
const age = (seconds: number) => seconds < 3600 ? few(seconds / 60, ' min') : seconds < 172800 ? few(seconds / 3600, ' h') : few(seconds / 86400, ' days');

/* Servers that share the pool of this one. */
function Members({ c }: { c: Cluster }) {
  return <section aria-label="members"><h3>Servers of this store</h3>
    {c.unowned > 0 && <p class="err" role="alert">{c.unowned} of {c.buckets} salt buckets have no server: their points are rejected</p>}
    <table><thead><tr>{['server', 'lease', 'mode', 'salt buckets', 'write-ahead log', 'up', 'version'].map(t => <th scope="col">{t}</th>)}</tr></thead>
      <tbody>{c.members.map(m => <tr class={m.live ? '' : 'err'}><td>{m.address || m.name}{m.name === c.self && ' (this one)'}</td><td>{m.live ? 'held' : 'ended'}</td>
        <td>{m.mode}</td><td>{m.buckets}</td><td>{bytes(m.walBytes)}</td><td>{age(Date.now() / 1000 - m.started)}</td><td>{m.version}</td></tr>)}</tbody></table></section>;
}

export class Health extends Component<{ zone: string }, State> {
  state: State = { now: new Map(), last: new Map(), at: 0, before: 0, range: {}, cluster: null, status: '', error: '' };
  private timer = 0;
  componentDidMount() { this.look(); this.timer = window.setInterval(() => { if (!document.hidden) this.look(); }, LOOK_MS); }
  componentWillUnmount() { clearInterval(this.timer); }
  private look = async () => {
    try {
      const now = parse(await (await ask('metrics')).text()), { status } = await json('api/status');
      const range = await json('api/stats/range').catch(() => this.state.range);   // busy for some seconds, in a large store
      const cluster = now.has('halite_cluster_buckets') ? await json('api/cluster') : null;
      this.setState({ now, range, cluster, last: this.state.now, at: performance.now(), before: this.state.at, status, error: '' });
    } catch (e) {
      this.setState({ error: (e as Error).message });
    }
  };
  render() {
    const { now, last, at, before, range, cluster, status, error } = this.state, v = (k: string) => now.get(k) ?? NaN;
    const rate = (k: string) => before && last.has(k) ? (v(k) - last.get(k)!) / (at - before) * 1000 : NaN;
    const sum = (start: string) => [...now].filter(([k]) => k.startsWith(start)).reduce((n, [, x]) => n + x, 0);
    const mean = (k: string) => v(k + '_count') ? few(v(k + '_sum') / v(k + '_count') * 1000, ' ms') : '-';
    const time = (ms?: number) => ms === undefined ? '-' : stamp(Math.floor(ms / 1000), this.props.zone);
    const tiles: [string, string][] = [
      ['status', status], ['points a second', few(rate('halite_points_accepted_total'), '')], ['points since the start', count(v('halite_points_accepted_total') || 0)],
      ['points rejected', count(sum('halite_points_rejected_total'))], ['series', count(v('halite_series') || 0)], ['metrics', count(v('halite_names{kind="metrics"}') || 0)],
      ['oldest point', time(range.oldest)], ['newest point', time(range.newest)],
      ['memory', bytes(v('process_resident_memory_bytes'))], ['head', bytes(v('halite_head_bytes')) + ' of ' + bytes(v('halite_head_limit_bytes'))],
      ['on disk', bytes(cluster ? NaN : sum('halite_table_bytes'))], ['disk free', bytes(v('halite_disk_free_bytes'))], ['write-ahead log', bytes(v('halite_wal_bytes'))],
      ['CPU', few(rate('process_cpu_seconds_total') * 100, ' %')], ['queries a second', few(rate('halite_queries_total{outcome="success"}'), '')],
      ['a query', mean('halite_query_duration_seconds')], ['an fsync', mean('halite_wal_fsync_duration_seconds')],
      ['connections', count(sum('halite_connections{'))], ['up', age(Date.now() / 1000 - v('process_start_time_seconds'))],
    ];
    return <section aria-label="health" class="health">{error && <p class="err" role="alert">{error}</p>}
      <dl>{now.size > 0 && tiles.filter(([, x]) => !x.startsWith('-')).map(([k, x]) => <div><dt>{k}</dt><dd>{x}</dd></div>)}</dl>{cluster && <Members c={cluster} />}<Retention /><Queries /></section>;
  }
}

/* How the server itself is. */
import { Component, h } from 'preact';
import { ask, json } from './api';
import { Queries } from './cost';
import { bytes, count, few } from './look';

type Figures = Map<string, number>;
interface State { now: Figures; last: Figures; at: number; before: number; status: string; error: string }

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

export class Health extends Component<{}, State> {
  state: State = { now: new Map(), last: new Map(), at: 0, before: 0, status: '', error: '' };
  private timer = 0;
  componentDidMount() { this.look(); this.timer = window.setInterval(() => { if (!document.hidden) this.look(); }, LOOK_MS); }
  componentWillUnmount() { clearInterval(this.timer); }
  private look = async () => {
    try {
      const now = parse(await (await ask('metrics')).text()), { status } = await json('api/status');
      this.setState({ now, last: this.state.now, at: performance.now(), before: this.state.at, status, error: '' });
    } catch (e) {
      this.setState({ error: (e as Error).message });
    }
  };
  render() {
    const { now, last, at, before, status, error } = this.state, v = (k: string) => now.get(k) ?? NaN;
    const rate = (k: string) => before && last.has(k) ? (v(k) - last.get(k)!) / (at - before) * 1000 : NaN;
    const sum = (start: string) => [...now].filter(([k]) => k.startsWith(start)).reduce((n, [, x]) => n + x, 0);
    const mean = (k: string) => v(k + '_count') ? few(v(k + '_sum') / v(k + '_count') * 1000, ' ms') : '-';
    const up = (Date.now() / 1000 - v('process_start_time_seconds')) / 3600;
    const tiles: [string, string][] = [
      ['status', status], ['points a second', few(rate('halite_points_accepted_total'), '')], ['points since the start', count(v('halite_points_accepted_total') || 0)],
      ['points rejected', count(sum('halite_points_rejected_total'))], ['series', count(v('halite_series') || 0)], ['metrics', count(v('halite_names{kind="metrics"}') || 0)],
      ['memory', bytes(v('process_resident_memory_bytes'))], ['head', bytes(v('halite_head_bytes')) + ' of ' + bytes(v('halite_head_limit_bytes'))],
      ['on disk', bytes(sum('halite_table_bytes'))], ['disk free', bytes(v('halite_disk_free_bytes'))], ['write-ahead log', bytes(v('halite_wal_bytes'))],
      ['CPU', few(rate('process_cpu_seconds_total') * 100, ' %')], ['queries a second', few(rate('halite_queries_total{outcome="success"}'), '')],
      ['a query', mean('halite_query_duration_seconds')], ['an fsync', mean('halite_wal_fsync_duration_seconds')],
      ['connections', count(sum('halite_connections{'))], ['up', up < 1 ? few(up * 60, ' min') : up < 48 ? few(up, ' h') : few(up / 24, ' days')],
    ];
    return <section aria-label="health" class="health">{error && <p class="err" role="alert">{error}</p>}
      <dl>{now.size > 0 && tiles.filter(([, x]) => !x.startsWith('-')).map(([k, x]) => <div><dt>{k}</dt><dd>{x}</dd></div>)}</dl><Queries /></section>;
  }
}

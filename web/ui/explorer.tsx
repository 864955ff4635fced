/* Where the series are: those of each metric, of each of its tag keys, of each value, and what came since yesterday. */
import { Component, h } from 'preact';
import { aborted, json, Latest } from './api';
import { count } from './look';
import { tagOf } from './mtext';
import { names } from './names';
import { text } from './row';

interface Count { name: string; series: number; new?: number }
interface Key extends Count { values: number; top: Count[] }
interface State { q: string; total: Count & { metrics: number } | null; metrics: Count[]; growing: Count[]; metric: string; keys: Key[]; key: string; error: string }
const MOST = 100;

export class Explorer extends Component<{ graph(metric: string, tags: string): void }, State> {
  state: State = { q: '', total: null, metrics: [], growing: [], metric: '', keys: [], key: '', error: '' };
  private latest = new Latest();
  componentDidMount() { this.look(''); }
  componentWillUnmount() { this.latest.stop(); }
  private async try(f: (signal: AbortSignal) => Promise<Partial<State>>) {
    try {
      this.setState({ error: '', ...await f(this.latest.next()) } as State);
    } catch (e) {
      if (!aborted(e)) this.setState({ error: (e as Error).message });
    }
  }
  private look = (q: string) => {
    this.setState({ q });
    return this.try(async s => {
      if (q) return { metrics: await names({ type: 'metrics', q }, s, MOST) };
      const all = await json(`api/cardinality?growth&max=${MOST}`, { signal: s });
      return { total: all, metrics: all.top, growing: all.growing };
    });
  };
  private metric = (metric: string) => this.try(async s => {
    const all = await json(`api/cardinality?growth&max=${MOST}&metric=${encodeURIComponent(metric)}`, { signal: s });
    return { metric, keys: all.tags, key: '' };
  });

  render() {
    const { q, total, metrics, growing, metric, keys, key, error } = this.state, { graph } = this.props;
    const most = Math.max(1, ...metrics.map(m => m.series)), values = keys.find(k => k.name === key);
    const fresh = (c: Count) => c.new ? '+' + count(c.new) : '';
    const list = (all: Count[]) => all.map(m => <tr class={m.name === metric ? 'near' : ''}><td><button class="plain" onClick={() => this.metric(m.name)}>{m.name}</button>
      <i class="share" style={{ width: 100 * m.series / most + '%' }} /></td><td>{count(m.series)}</td><td>{fresh(m)}</td></tr>);
    const head = (...names: string[]) => <thead><tr>{names.map(n => <th scope="col">{n}</th>)}</tr></thead>;
    return <section aria-label="explorer" class="explorer">
      <div class="bar"><input aria-label="find a metric" placeholder="any part of a metric's name" value={q} onInput={e => this.look(text(e))} />
        {total && <span class="total">{count(total.series)} series of {count(total.metrics)} metrics, {count(total.new || 0)} since yesterday</span>}</div>
      {error && <p class="err" role="alert">{error}</p>}
      <div class="columns">
        <table class="metrics">{head('metric', 'series', 'since yesterday')}<tbody>{list(metrics)}</tbody></table>
        {!metric && growing.length > 0 && <table class="growing">{head('growing most', 'series', 'since yesterday')}<tbody>{list(growing)}</tbody></table>}
        {metric && <table class="keys"><thead><tr><th scope="col">key of {metric} <button onClick={() => graph(metric, '')}>graph</button></th><th scope="col">values</th><th scope="col">series</th></tr></thead>
          <tbody>{keys.map(k => <tr class={k.name === key ? 'near' : ''}><td><button class="plain" onClick={() => this.setState({ key: k.name })}>{k.name}</button>{' '}
            <button onClick={() => graph(metric, k.name + '=*')}>graph</button></td><td>{count(k.values)}</td><td>{count(k.series)}</td></tr>)}</tbody></table>}
        {values && <table class="values">{head('value of ' + key, 'series')}<tbody>{values.top.map(v =>
          <tr><td>{v.name} <button onClick={() => graph(metric, tagOf(key, v.name))}>graph</button></td><td>{count(v.series)}</td></tr>)}</tbody></table>}
      </div></section>;
  }
}

/* Where the series are: those of each metric, of each of its tag keys, of each value; from there to the graph. */
import { Component, h } from 'preact';
import { aborted, Latest } from './api';
import { count } from './look';
import { Name, names } from './names';
import { text } from './row';

interface State { q: string; metric: string; key: string; metrics: Name[]; keys: (Name & { values: string })[]; values: Name[]; error: string }
const MOST = 100;

export class Explorer extends Component<{ graph(metric: string, tags: string): void }, State> {
  state: State = { q: '', metric: '', key: '', metrics: [], keys: [], values: [], error: '' };
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
  private look = (q: string) => this.try(async s => ({ q, metrics: await names({ type: 'metrics', q }, s, MOST) }));
  private metric = (metric: string) => this.try(async s => {
    const keys = await names({ type: 'tagk', metric }, s, MOST), some = keys.slice(0, 20);
    const values = await Promise.all(some.map(k => names({ type: 'tagv', metric, tagk: k.name }, s, 1000)));
    return { metric, key: '', values: [], keys: keys.map((k, i) => ({ ...k, values: values[i] ? count(values[i].length) + (values[i].length === 1000 ? '+' : '') : '' })) };
  });
  private key = (key: string) => this.try(async s => ({ key, values: await names({ type: 'tagv', metric: this.state.metric, tagk: key }, s, MOST) }));

  render() {
    const { q, metric, key, metrics, keys, values, error } = this.state, { graph } = this.props;
    const most = Math.max(1, ...metrics.map(m => m.series));
    return <section aria-label="explorer" class="explorer">
      <input aria-label="find a metric" placeholder="any part of a metric's name" value={q} onInput={e => this.look(text(e))} />
      {error && <p class="err" role="alert">{error}</p>}
      <div class="columns">
        <table class="metrics"><thead><tr><th scope="col">metric</th><th scope="col">series</th></tr></thead><tbody>{metrics.map(m =>
          <tr class={m.name === metric ? 'near' : ''}><td><button class="plain" onClick={() => this.metric(m.name)}>{m.name}</button>
            <i class="share" style={{ width: 100 * m.series / most + '%' }} /></td><td>{count(m.series)}</td></tr>)}</tbody></table>
        {metric && <table class="keys"><thead><tr><th scope="col">key of {metric} <button onClick={() => graph(metric, '')}>graph</button></th><th scope="col">values</th><th scope="col">series</th></tr></thead>
          <tbody>{keys.map(k => <tr class={k.name === key ? 'near' : ''}><td><button class="plain" onClick={() => this.key(k.name)}>{k.name}</button>{' '}
            <button onClick={() => graph(metric, k.name + '=*')}>graph</button></td><td>{k.values}</td><td>{count(k.series)}</td></tr>)}</tbody></table>}
        {key && <table class="values"><thead><tr><th scope="col">value of {key}</th><th scope="col">series</th></tr></thead><tbody>{values.map(v =>
          <tr><td>{v.name} <button onClick={() => graph(metric, key + '=' + v.name)}>graph</button></td><td>{count(v.series)}</td></tr>)}</tbody></table>}
      </div></section>;
  }
}

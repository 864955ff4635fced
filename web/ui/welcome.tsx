/* Where nothing is asked yet: the metrics that are there, or how to put some. */
import { Component, h } from 'preact';
import { aborted, Latest } from './api';
import { count } from './look';
import { newSub, Sub } from './mtext';
import { Name, names } from './names';
import { SUGGESTIONS } from './suggest';

/* Of what 'halite demo' feeds; counts that only grow as rates. */
const MACHINE = [
  ['load', 'm=avg:proc.loadavg.1m{host=*}'],
  ['CPU, %', 'm=sum:rate{counter,,1}:proc.stat.cpu.percpu{host=*,type=not_literal_or(idle)}&stack'],
  ['memory', 'm=avg:proc.meminfo.memavailable{host=*}&m=avg:proc.meminfo.memfree{host=*}'],
  ['network', 'm=sum:rate{counter,,1}:proc.net.bytes{host=*,direction=*}'],
  ['disks, sectors', 'm=sum:rate{counter,,1}:iostat.disk.read_sectors{host=*}&m=sum:rate{counter,,1}:iostat.disk.write_sectors{host=*}'],
  ['disks, free', 'm=avg:df.bytes.free{host=*,mount=*}'],
];

export class Welcome extends Component<{ graph(s: Sub): void }, { list: Name[] | null; machine: boolean; error: string }> {
  state = { list: null as Name[] | null, machine: false, error: '' };
  private later = 0;
  componentDidMount() { this.look(); }
  private latest = new Latest();
  componentWillUnmount() { clearTimeout(this.later); this.latest.stop(); }
  private look = async () => {
    const signal = this.latest.next();
    try {
      const [list, load] = await Promise.all([names({ type: 'metrics' }, signal), names({ type: 'metrics', q: 'proc.loadavg.1m' }, signal)]);
      this.setState({ list, machine: load.length > 0, error: '' });
    } catch (e) {
      if (aborted(e)) return;
      this.setState({ error: (e as Error).message });
      this.later = window.setTimeout(this.look, 5000);
    }
  };
  private async graph(metric: string) {
    const keys = await names({ type: 'tagk', metric }).catch(() => []), by = keys.find(k => k.name === 'host') || keys[0];
    this.props.graph(newSub({ metric, tags: by && by.series <= 100 ? by.name + '=*' : '' }));
  }
  render() {
    const { list, machine, error } = this.state, host = location.hostname || 'localhost', port = location.port || '80';
    if (!list) return error ? <p class="err" role="alert">{error}</p> : <p role="status">asking…</p>;
    return <section aria-label="metrics" class="welcome">{list.length > 0
      ? <div>{machine && <div><h2>Machines</h2><p>{MACHINE.map(([name, m]) => <a href={'#start=15m-ago&autoreload=5&' + m}>{name}</a>)}</p></div>}
        <h2>What is there</h2>{list.length === SUGGESTIONS && <p>The {SUGGESTIONS} metrics of the most series; “series” above has the others.</p>}<ul>{list.map(m => <li><button onClick={() => this.graph(m.name)}>{m.name}</button> <small>{count(m.series)} series</small></li>)}</ul></div>
      : <div><h2>No points yet</h2><p>Let a machine feed its load:</p><pre>{`halite demo --server ${host}:${port}`}</pre><p>Or put one:</p>
        <pre>{`echo "put sys.cpu.user $(date +%s) 42.5 host=web01" | nc -N ${host} ${port}`}</pre>
        <pre>{`curl -d '{"metric":"sys.cpu.user","timestamp":'$(date +%s)',"value":42.5,"tags":{"host":"web01"}}' '${host}:${port}/api/put?details'`}</pre></div>}</section>;
  }
}

/* For how long points are kept: the policies, what each freed, and an editor. */
import { Component, h } from 'preact';
import { ask, json, post } from './api';
import { bytes, count } from './look';

interface Policy { pattern: string; raw: string; hourly: string; metrics: number; points: number; bytes: number }
interface Kept { source: string; policies: string; dryRun: boolean; failure?: string; list: Policy[] }
interface State { kept: Kept | null; text: string | null; error: string }

const PATH = 'api/retention';

export class Retention extends Component<{}, State> {
  state: State = { kept: null, text: null, error: '' };
  componentDidMount() { this.take(() => json(PATH), null); }
  /* 'text': what is in the editor afterwards; null: it is closed. */
  private take = async (f: () => Promise<Kept>, text: string | null) => {
    try {
      this.setState({ kept: await f(), text, error: '' });
    } catch (e) {
      this.setState({ error: (e as Error).message });
    }
  };
  render() {
    const { kept, text, error } = this.state;
    const put = (query: string, then: string | null) => this.take(() => post(PATH + query, { policies: text }, 'PUT'), then);
    return <section aria-label="retention"><h3>Kept for how long</h3>{error && <p class="err" role="alert">{error}</p>}
      {kept?.failure && <p class="err" role="alert">{kept.failure}</p>}
      {kept && (kept.list.length ? <table><thead><tr>{['metrics', 'points', 'hourly', 'how many', kept.dryRun ? 'points it would free' : 'points freed', 'bytes'].map(t => <th scope="col">{t}</th>)}</tr></thead>
        <tbody>{kept.list.map(p => <tr><td>{p.pattern}</td><td>{p.raw}</td><td>{p.hourly}</td><td>{count(p.metrics)}</td><td>{count(p.points)}</td><td>{bytes(p.bytes)}</td></tr>)}</tbody></table> : <p>all of it, for ever</p>)}
      {kept && (text === null ? <p><button onClick={() => this.setState({ text: kept.policies.split(/ *; */).join('\n') })}>edit</button>
        {kept.source === 'api' && <button onClick={() => this.take(async () => (await ask(PATH, { method: 'DELETE' })).json(), null)}>as the settings say</button>}</p> :
        <p><textarea aria-label="policies" rows={4} placeholder="sys.* 90d 2y" value={text} onInput={e => this.setState({ text: (e.target as HTMLTextAreaElement).value })} />
          <button onClick={() => put('?dry_run', text)}>what would it free?</button><button onClick={() => put('', null)}>set</button>
          <button onClick={() => this.take(() => json(PATH), null)}>cancel</button></p>)}</section>;
  }
}

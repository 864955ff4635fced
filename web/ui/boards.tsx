/* Saved queries on one page: a list in this browser, and a JSON file to keep or hand on. */
import { Component, h } from 'preact';
import { Ask, fromHash } from './ask';
import { Picture } from './chart';
import { Answer, load } from './data';
import { Graph } from './graph';
import { Latest } from './api';
import { DRAWN, pictureOf } from './picture';

export interface Saved { title: string; query: string }   // the fragment
const KEY = 'halite.board';

export const saved = (): Saved[] => {
  try {
    return check(JSON.parse(localStorage.getItem(KEY) || '[]'));
  } catch {
    return [];
  }
};
const keep = (all: Saved[]) => localStorage.setItem(KEY, JSON.stringify(all));
export const save = (s: Saved) => keep([...saved(), s]);

function check(x: unknown): Saved[] {
  if (!Array.isArray(x) || x.some(s => typeof s?.title !== 'string' || typeof s?.query !== 'string')) throw new Error('this is no file of saved queries');
  return x.map(s => ({ title: s.title, query: s.query }));
}

/* One of them, small. */
class Small extends Component<{ a: Ask }, { ans: Answer | null; error: string }> {
  state = { ans: null as Answer | null, error: '' };
  private latest = new Latest();
  private timer = 0;
  componentDidMount() {
    this.look();
    this.timer = window.setInterval(() => { if (!document.hidden) this.look(); }, (this.props.a.live || 60) * 1000);
  }
  componentWillUnmount() { clearInterval(this.timer); this.latest.stop(); }
  private look = () => load(this.props.a, 600, this.latest.next())
    .then(ans => { this.setState({ ans, error: ans.errors.find(Boolean) || '' }); if (ans.rough) this.look(); }, e => this.setState({ error: e.message }));
  private picture = (() => {
    let of: Answer | null = null, p: Picture | null = null;
    return () => {
      const { ans } = this.state;
      if (p && of === ans) return p;
      of = ans;
      return p = pictureOf(this.props.a, ans, DRAWN).picture;
    };
  })();
  render() {
    const nothing = () => undefined;
    return <div>{this.state.error && <p class="err">{this.state.error}</p>}
      <Graph picture={this.picture()} ready={!!this.state.ans} near={null} label={this.props.a.subs.map(s => s.metric).join(', ')} on={{ range: nothing, hover: nothing, pick: nothing, axis: nothing }} /></div>;
  }
}

export class Boards extends Component<{ open(fragment: string): void }, { all: Saved[]; error: string }> {
  state = { all: saved(), error: '' };
  private set(all: Saved[]) { keep(all); this.setState({ all, error: '' }); }
  private file = async (e: Event) => {
    const f = (e.currentTarget as HTMLInputElement).files![0];
    try {
      this.set([...this.state.all, ...check(JSON.parse(await f.text()))]);
    } catch (x) {
      this.setState({ error: (x as Error).message });
    }
  };
  render() {
    const { all, error } = this.state, href = 'data:application/json,' + encodeURIComponent(JSON.stringify(all, null, 1));
    return <section aria-label="saved queries"><div class="bar">
      <a href={href} download="halite-queries.json">save as a file</a>
      <label>read a file <input type="file" aria-label="read a file" accept=".json" onChange={this.file} /></label></div>
      {error && <p class="err" role="alert">{error}</p>}
      {!all.length && <p>Nothing is saved yet: “save” beside a graph puts it here.</p>}
      <div class="board">{all.map((s, i) => <article key={i + s.query}><h3><button class="plain" onClick={() => this.props.open(s.query)}>{s.title}</button>
        <button class="plain close" aria-label={'remove ' + s.title} onClick={() => this.set(all.filter((_, k) => k !== i))}>×</button></h3>
        <Small a={fromHash(s.query)} /></article>)}</div></section>;
  }
}

/* The page: what is asked lies in the URL, each change of it is an entry of the browser's history. */
import { Component, h } from 'preact';
import { aborted, json, Latest, login, onLogin } from './api';
import { Ask, fromHash, toHash } from './ask';
import { Picture } from './chart';
import { Answer, load, range } from './data';
import { Graph } from './graph';
import { Login } from './login';
import { Entry, Legend, sorted } from './legend';
import { colour, count } from './look';
import { newSub, Sub } from './mtext';
import { Intervals, Row, text } from './row';
import { Table } from './table';
import { absolute } from './time';

export const ranges = ['15m', '1h', '6h', '1d', '1w', '4w', '1y'];
const DRAWN = 100;

interface State {
  a: Ask; ans: Answer | null; aggs: string[]; busy: boolean; error: string; wantsLogin: boolean;
  hover: { t: number | null; near: string | null }; most: number;
}

/* What the answer depends on; the rest is how it is shown. */
const asked = (a: Ask) => JSON.stringify([a.subs.map(s => ({ ...s, right: 0 })), a.exps, a.start, a.end, a.tz, a.shift]);

export class App extends Component<{}, State> {
  state: State = {
    a: fromHash(location.hash), ans: null, aggs: [], busy: false, error: '', wantsLogin: false,
    hover: { t: null, near: null }, most: DRAWN,
  };
  private latest = new Latest();
  private timer = 0;
  private entries: Entry[] = [];
  private picture: Picture | null = null;
  private made: unknown[] = [];

  componentDidMount() {
    onLogin(() => this.setState({ wantsLogin: true }));
    addEventListener('popstate', this.fromUrl);
    addEventListener('hashchange', this.fromUrl);
    document.addEventListener('visibilitychange', this.seen);
    this.start();
  }
  private start() {
    json('api/aggregators').then(l => this.setState({ aggs: l.sort() }), () => undefined);
    this.load();
    this.live();
  }
  private fromUrl = () => {
    const a = fromHash(location.hash);
    if (toHash(a) !== toHash(this.state.a)) this.change(a);
  };

  /* The URL, the answer and the clock follow the state. */
  private change(a: Ask) {
    const old = this.state.a;
    this.setState({ a }, () => {
      if (asked(a) !== asked(old)) this.load();
      if (a.live !== old.live) this.live();
    });
  }
  go = (next: Partial<Ask>) => {
    const a = { ...this.state.a, ...next };
    if (toHash(a) === toHash(this.state.a)) return;
    history.pushState(null, '', toHash(a));
    this.change(a);
  };

  async load(tail = false) {
    const { a, ans } = this.state;
    if (!a.subs.some(s => s.metric)) { this.setState({ ans: null, error: '' }); return; }
    const r = range(a);
    if (!(r.to > r.from)) { this.setState({ error: 'The end must be after the start.' }); return; }
    const signal = this.latest.next();
    this.setState({ busy: true });
    try {
      const next = await load(a, 2 * (document.querySelector('.plot')?.clientWidth || innerWidth), signal, tail && ans ? ans : undefined);
      this.setState({ ans: next, busy: false, error: '' });
    } catch (e) {
      if (!aborted(e)) this.setState({ busy: false, error: (e as Error).message });
    }
  }

  /* A look at what is new, not while nobody looks. */
  private live() {
    clearInterval(this.timer);
    const { live } = this.state.a;
    if (live) this.timer = window.setInterval(() => { if (!document.hidden && !this.state.busy) this.load(!this.state.a.end); }, live * 1000);
  }
  private seen = () => { if (!document.hidden && this.state.a.live) this.load(!this.state.a.end); };

  private zoom = (from: number, to: number) => this.go({ start: String(Math.floor(from * 1000)), end: String(Math.ceil(to * 1000)) });
  private toggle = (name: string, many: boolean) => {
    const { only } = this.state.a, all = this.entries.filter(e => !e.s.old).map(e => e.s.name);
    if (!many) { this.go({ only: only && only.length === 1 && only[0] === name ? null : [name] }); return; }
    const on = new Set(only || all);
    if (!on.delete(name)) on.add(name);
    this.go({ only: on.size === all.length ? null : [...on] });
  };
  private split = (i: number, key: string) => {
    const subs = this.state.a.subs.slice(), s = subs[i];
    const [by, ...more] = s.tags.split('}{');
    subs[i] = { ...s, tags: [[by, key + '=*'].filter(Boolean).join(','), ...more].join('}{') };
    this.go({ subs });
  };
  private setSub = (i: number, s: Sub | null, after: Sub[] = []) =>
    this.go({ subs: this.state.a.subs.flatMap((o, k) => k === i ? [...(s ? [s] : []), ...after] : [o]) });

  /* What the chart and the legend show; made anew only when what they depend on has changed. */
  private prepare() {
    const { a, ans, most } = this.state;
    const key = [ans, most, a.sort, JSON.stringify(a.only), a.log, a.log2, a.zero, a.stack, JSON.stringify(a.lines), a.notes, a.tz,
                 JSON.stringify(a.subs.map(s => s.right))];
    if (key.every((x, i) => x === this.made[i])) return;
    this.made = key;
    const series = ans ? ans.series.map(s => ({ ...s, right: !!a.subs[s.sub]?.right })) : [];
    const colours = new Map([...new Set(series.map(s => s.name))].map((n, i) => [n, colour(i)]));
    const on = new Set(a.only && a.only.some(n => colours.has(n)) ? a.only : [...colours.keys()]);
    this.entries = sorted(series, a.sort).slice(0, most)
      .map(({ s, st }) => ({ s, st, colour: colours.get(s.name)!, on: on.has(s.name) }));
    const seen = this.entries.filter(e => e.on);
    const r = ans || range(a);
    this.picture = {
      from: r.from, to: r.to, zone: a.tz, series: seen.map(e => e.s), colours: seen.map(e => e.colour), cells: [], step: 0,
      log: a.log, log2: a.log2, zero: a.zero, stack: a.stack, notes: a.notes && ans ? ans.notes : [], lines: a.lines,
    };
  }
  private near(): number | null {
    const { near } = this.state.hover, i = this.picture!.series.findIndex(s => s.name + s.old === near);
    return i < 0 ? null : i;
  }

  render() {
    const { a, ans, aggs, busy, error, wantsLogin, hover } = this.state;
    this.prepare();
    const p = this.picture!, flag = (k: 'log' | 'log2' | 'zero' | 'stack', label: string) =>
      <button class={a[k] ? 'on' : ''} aria-pressed={String(a[k])} onClick={() => this.go({ [k]: !a[k] })}>{label}</button>;
    if (wantsLogin)
      return <Login done={(n, s) => { login(n, s); this.setState({ wantsLogin: false }); this.start(); }} />;
    return <div id="page" class={a.embed ? 'embed' : ''}>
      <header><h1>Halite</h1>
        <nav aria-label="time range">{ranges.map(r =>
          <button class={a.start === r + '-ago' && !a.end ? 'on' : ''} onClick={() => this.go({ start: r + '-ago', end: '' })}>{r}</button>)}
          <input aria-label="start" class="time" value={a.start} onChange={e => this.go({ start: text(e) })} />
          <input aria-label="end" class="time" placeholder="now" value={a.end} onChange={e => this.go({ end: text(e) })} />
          <select aria-label="live" value={String(a.live)} onChange={e => this.go({ live: +text(e) })}>
            {[0, 1, 5, 15, 60].map(n => <option value={String(n)} selected={n === a.live}>{n ? n + ' s' : 'not live'}</option>)}</select>
        </nav></header>
      <main>
        {a.subs.map((s, i) => <Row key={i} s={s} i={i} aggs={aggs} error={ans && ans.errors[i]} set={n => this.setSub(i, n)}
          drop={() => this.setSub(i, null)} copy={() => this.setSub(i, s, [{ ...s }])} />)}
        <Intervals />
        <div class="bar"><button onClick={() => this.go({ subs: [...a.subs, newSub()] })}>+ query</button>
          {flag('log', 'log')}{a.subs.some(s => s.right) && flag('log2', 'log right')}{flag('zero', 'zero')}{flag('stack', 'stack')}
          <span class="status" role="status">{busy ? 'asking…' : ans ? `${count(ans.series.length)} series, ${count(ans.points)} points, ${ans.ms.toFixed(0)} ms` : ''}</span></div>
        {error && <p class="err" role="alert">{error}</p>}
        {a.view === 'table' ? <Table series={p.series} zone={a.tz} /> :
          <Graph picture={p} near={this.near()} label={`graph of ${p.series.length} series; its numbers are in the legend and the table`}
            on={{ range: this.zoom, pick: n => this.toggle(p.series[n].name, false), axis: () => undefined,
                  hover: (t, n) => this.setState({ hover: { t, near: n == null ? null : p.series[n].name + p.series[n].old } }) }} />}
        {ans && <Legend entries={this.entries} sort={a.sort} hidden={Math.max(0, ans.series.length - this.state.most)} hover={hover}
          setSort={sort => this.go({ sort })} toggle={this.toggle} split={this.split} more={() => this.setState({ most: this.state.most + DRAWN })}
          point={near => this.setState({ hover: { t: hover.t, near } })} />}
      </main></div>;
  }
}
export { absolute };

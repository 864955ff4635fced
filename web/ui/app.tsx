/* The page: what is asked lies in the URL, each change of it is an entry of the browser's history. */
import { Component, h } from 'preact';
import { aborted, ask as fetchUrl, hasTried, isAway, json, Latest, login, onLogin, url as fullUrl } from './api';
import { Ask, fromHash, isGraph, toHash } from './ask';
import { Boards, save } from './boards';
import { Changed } from './changed';
import { Picture } from './chart';
import { CostPanel } from './cost';
import { Answer, forecast, Forecast, load, Note, pause, range } from './data';
import { Copy } from './dialog';
import { Explorer } from './explorer';
import { Graph } from './graph';
import { Health } from './health';
import { Help } from './help';
import { keyboard, Keys } from './keyboard';
import { Entry, Legend } from './legend';
import { Login } from './login';
import { count } from './look';
import { Item, Menu } from './menu';
import { isPlain, joinTags, letter, newSub, printM, Sub, tagList, tagOf } from './mtext';
import { NoteForm, Notes } from './notes';
import { Expression, Intervals, Row } from './row';
import { DRAWN, pictureOf } from './picture';
import { absoluteAsk, apiRequest, csv, curl, grafana, link, pictureLacks, pictureUrl, putLines } from './share';
import { Table } from './table';
import { shown, stamp } from './time';
import { Head, Looks, ranges } from './toolbar';
import { Welcome } from './welcome';

const POINTS = 100000;   // of all series together

interface State {
  a: Ask; ans: Answer | null; aggs: string[]; busy: boolean; error: string; wantsLogin: boolean;
  hover: { t: number | null; near: string | null }; most: number; folded: boolean; look: number;
  before: Forecast | null; wait: boolean; help: boolean; note: { note: Note; fresh: boolean } | null; copy: { title: string; text: string } | null;
}

/* What the answer depends on; the rest is how it is shown. */
const asked = (a: Ask) => JSON.stringify([a.subs.map(s => ({ ...s, right: 0 })), a.exps, a.start, a.end, a.tz, a.shift, a.stack, a.heat]);

export class App extends Component<{}, State> {
  state: State = {
    a: fromHash(location.hash), ans: null, aggs: [], busy: false, error: '', wantsLogin: false, hover: { t: null, near: null }, most: DRAWN,
    folded: true, look: 0, before: null, wait: false, help: false, note: null, copy: null,
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
    addEventListener('theme', () => this.setState({ look: this.state.look + 1 }));
    keyboard(() => this.keys());
    setTimeout(() => this.start());
  }
  private name() { document.title = this.state.a.subs.map(s => s.metric).filter(Boolean).join(', ') || 'Halite'; }
  private start() {
    this.name();
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
    this.setState({ a });
    this.name();
    if (asked(a) !== asked(old)) { this.setState({ before: null }); this.load(); }
    if (a.live !== old.live) this.live();
  }
  go = (next: Partial<Ask>) => {
    const a = { ...this.state.a, ...next };
    if (toHash(a) === toHash(this.state.a)) return;
    history.pushState(null, '', toHash(a));
    this.change(a);
  };

  private width = () => Math.max(200, innerWidth - 90);   // of the graph, without asking for a layout
  /* Two points a pixel, fewer where there are many series. */
  private points() {
    const { ans } = this.state;
    return Math.max(60, Math.min(2 * this.width(), Math.floor(POINTS / Math.max(1, ans ? ans.series.length : 1))));
  }
  async load(tail = false) {
    const { a, ans } = this.state;
    if (!a.subs.some(s => s.metric)) { this.latest.stop(); this.setState({ ans: null, error: '', busy: false }); return; }
    const r = range(a);
    const bad = Number.isNaN(r.from) ? 'start' : Number.isNaN(r.to) ? 'end' : '';
    if (!(r.to > r.from)) {
      this.latest.stop();
      this.setState({ busy: false, error: bad ? `The ${bad}, ${a[bad]}, is no time: write 1h-ago, 2026-11-23 19:05 or 19:05.` : 'The end must be a time after the start.' });
      return;
    }
    const signal = this.latest.next();
    this.setState({ busy: true, wait: false });
    if (!tail) this.predict(signal);
    try {
      const next = await load(a, this.points(), signal, tail && ans ? ans : undefined);
      await pause();
      if (signal.aborted) return;
      this.away = 0;
      this.setState({ ans: next, busy: next.rough, error: '' });
      if (next.rough) setTimeout(() => { if (!signal.aborted) this.load(); }, 50);
    } catch (e) {
      if (aborted(e)) return;
      this.away = isAway(e) ? this.away || Date.now() / 1000 : 0;
      this.setState({ busy: false, error: (e as Error).message + (this.away ? ` (since ${stamp(Math.floor(this.away), a.tz).slice(11)})` : '') });
    }
  }
  private away = 0;   // since when nothing is answered; the last picture stays

  /* What it will read, while it is read; of too much we ask first, and the server is let go. */
  private sure = '';
  private async predict(signal: AbortSignal) {
    const { a } = this.state;
    try {
      const before = await forecast(a, this.points(), signal);
      if (before.coarser && !signal.aborted) { this.load(); return; }
      this.setState({ before });
      if (!before.heavy || this.sure === asked(a) || signal.aborted) return;
      this.latest.stop();
      this.setState({ wait: true, busy: false });
    } catch { /* the query itself says what is wrong */ }
  }
  private askAnyway = () => { this.sure = asked(this.state.a); this.load(); };
  private askCheaper = () => {
    const { a, before } = this.state;
    this.go({ subs: a.subs.map((s, i) => before!.cheaper[i] ? { ...s, ds: before!.cheaper[i]! } : s) });
  };

  /* A look at what is new, not while nobody looks. */
  private live() {
    clearInterval(this.timer);
    const { live } = this.state.a;
    if (live) this.timer = window.setInterval(() => { if (!document.hidden && !this.state.busy) this.load(!this.state.a.end); }, live * 1000);
  }
  private seen = () => { if (!document.hidden && this.state.a.live) this.load(!this.state.a.end); };

  private zoom = (from: number, to: number) => {
    const ms = to - from < 120 ? 1 : 1000;
    this.go({ start: String(Math.floor(from * 1000 / ms) * ms), end: String(Math.ceil(to * 1000 / ms) * ms) });
  };
  private move(left: number, right: number) {
    const { from, to } = range(this.state.a), span = to - from;
    this.zoom(from + left * span, to + right * span);
  }
  private toggle = (name: string, many: boolean) => {
    const { only } = this.state.a, all = [...new Set(this.entries.map(e => e.s.name))];
    if (!many) { this.go({ only: only && only.length === 1 && only[0] === name ? null : [name] }); return; }
    const on = new Set(only || all);
    if (!on.delete(name)) on.add(name);
    this.go({ only: on.size === all.length ? null : [...on] });
  };
  private addTag = (i: number, tag: string) => {
    const s = this.state.a.subs[i], [by, plain] = tagList(s.tags), key = tag.slice(0, tag.indexOf('=') + 1);
    this.setSub(i, { ...s, tags: joinTags([...by.filter(t => !t.startsWith(key)), tag], plain) });
  };
  private setSub = (i: number, s: Sub | null, after: Sub[] = []) =>
    this.go({ subs: this.state.a.subs.flatMap((o, k) => k === i ? [...(s ? [s] : []), ...after] : [o]), only: null });
  private heat = () => {
    const { a } = this.state;
    this.go({ heat: !a.heat, subs: a.heat ? a.subs.map(s => ({ ...s, more: s.more.replace('show-histogram-buckets', '') })) : a.subs });
  };
  private newNote = (t: number) =>
    this.setState({ note: { fresh: true, note: { t: Math.round(t), end: 0, text: '', notes: '', raw: {} } } });

  private keys(): Keys {
    const { a, ans } = this.state, to: Keys = {
      '/': () => document.querySelector<HTMLInputElement>('.suggest input')?.focus(),
      ArrowLeft: () => this.move(-0.5, -0.5), ArrowRight: () => this.move(0.5, 0.5), '-': () => this.move(-0.5, 0.5), '+': () => this.move(0.25, -0.25),
      z: () => history.back(), l: () => this.go({ log: !a.log }), s: () => this.go({ stack: !a.stack }), 0: () => this.go({ zero: !a.zero }),
      w: () => this.go({ shift: a.shift ? '' : '1w', diff: false }), d: () => this.go({ shift: a.shift || '1w', diff: !a.diff }),
      t: () => this.go({ view: a.view === 'table' ? 'graph' : 'table' }), r: () => { this.load(); }, 'Ctrl-Enter': () => { this.load(); },
      e: () => this.go({ panel: a.panel === 'cost' ? '' : 'cost' }), c: () => this.go({ panel: a.panel === 'changed' ? '' : 'changed' }),
      n: () => this.newNote(this.state.hover.t ?? (ans || range(a)).to), '?': () => this.setState({ help: true }), Escape: () => this.go({ only: null }),
    };
    ranges.forEach((r, i) => { to[i + 1] = () => this.go({ start: r + '-ago', end: '' }); });
    return isGraph(a) ? to : { z: to.z, t: to.t, '?': to['?'] };
  }

  /* A file of the server, with the credentials that a link would not have. */
  private open = async (url: string) => {
    const tab = window.open('', '_blank');
    try {
      const r = await fetchUrl(url.slice(url.indexOf('/q?') + 1));
      const blob = URL.createObjectURL(await r.blob());
      if (tab) tab.location.href = blob; else location.href = blob;
    } catch (e) {
      tab?.close();
      this.setState({ error: (e as Error).message });
    }
  };
  private download(name: string, type: string, text: string) {
    const l = document.createElement('a');
    l.href = URL.createObjectURL(new Blob([text], { type }));
    l.download = name;
    l.click();
  }
  private shares = (): Item[] => {
    const { a } = this.state, p = this.picture!, { why, without } = pictureLacks(a, p.series), copy = (title: string, text: () => string): Item => ({ label: title, run: () => this.setState({ copy: { title, text: text() } }) });
    return [
      copy('link with absolute times', () => link(absoluteAsk(a))),
      ...(why ? [] : ['png', 'svg'].map(f => ({ label: f.toUpperCase(), run: () => this.open(pictureUrl(a, p.series, f, '1200x600')) }))),
      ...(why || without ? [{ label: why ? `no PNG or SVG of ${why}` : `PNG and SVG are without ${without}` }] : []),
      { label: 'CSV', run: () => this.download('halite.csv', 'text/csv', csv(p.series, a.tz)) },
      ...(a.subs.every(isPlain) ? [{ label: 'JSON', href: fullUrl(apiRequest(a, this.points()).path) }] : []),
      copy('curl', () => curl(a, this.points())), copy('Grafana panel', () => grafana(a)), copy('put lines', () => putLines(p.series)),
      copy('embed', () => `<iframe src="${location.origin + location.pathname}?embed${toHash(a)}"></iframe>`),
    ];
  };
  private save = () => {
    const { a } = this.state, texts = [...a.subs.filter((s, i) => s.metric && !a.hide.includes(letter(i))).map(s => printM(s)), ...a.exps];
    save({ title: texts.join(', ') + ', ' + shown(a.start, a.tz) + (a.end && ' – ' + shown(a.end, a.tz)), query: toHash({ ...a, view: 'graph', panel: '' }) });
    this.go({ view: 'board' });
  };

  /* What the chart and the legend show; made anew only when what they depend on has changed. */
  private prepare() {
    const { a, ans, most, look } = this.state;
    const key = [ans, most, look, a.sort, a.log, a.log2, a.zero, a.stack, a.notes, a.tz, a.diff, a.heat,
                 JSON.stringify([a.only, a.lines, a.hide, a.subs.map(s => s.right)])];
    if (key.every((x, i) => x === this.made[i])) return;
    this.made = key;
    const { entries, picture } = pictureOf(a, ans, most);
    this.entries = entries;
    this.picture = picture;
  }
  private near(): number | null {
    const { near } = this.state.hover, i = this.picture!.series.findIndex(s => s.name + s.old === near);
    return i < 0 ? null : i;
  }

  // On a phone; a query with an error is seen.
  private folded() { const { folded, ans } = this.state; return folded && !(ans && ans.errors.some(Boolean)); }

  private graphView() {
    const { a, ans, aggs, busy, error, hover, most, before, wait } = this.state, p = this.picture!, folded = this.folded();
    const say = busy ? 'asking…' + (before ? ` ${count(before.rows)} hours of ${count(before.series)} series` : '') : ans ? `${count(ans.series.length)} series, ${count(ans.points)} points, ${ans.ms.toFixed(0)} ms` : '';
    const err = (i: number) => (ans && ans.errors[i]) || null;
    return <main>
      <div class="fold">{a.subs.map((s, i) => <Row key={i} s={s} i={i} aggs={aggs} error={err(i)} hidden={a.hide.includes(letter(i))} set={n => this.setSub(i, n)}
        drop={() => this.setSub(i, null)} copy={() => this.setSub(i, s, [{ ...s }])}
        hide={() => this.go({ hide: a.hide.includes(letter(i)) ? a.hide.filter(x => x !== letter(i)) : [...a.hide, letter(i)] })} />)}
        {a.exps.map((x, i) => <Expression key={'e' + i} value={x} error={err(a.subs.length + i)} set={v => this.go({ exps: a.exps.map((o, k) => k === i ? v : o) })}
          drop={() => this.go({ exps: a.exps.filter((_, k) => k !== i) })} />)}<Intervals /></div>
      <div class="bar"><button class="unfold" aria-expanded={String(!folded)} onClick={() => this.setState({ folded: !folded })}>☰ query</button>
        <span class="fold tools"><button onClick={() => this.go({ subs: [...a.subs, newSub()] })}>+ query</button>
          <button onClick={() => this.go({ exps: [...a.exps, ''] })}>+ formula</button>
          <Looks a={a} go={this.go} /><button class={a.heat ? 'on' : ''} aria-pressed={String(a.heat)} onClick={this.heat}>heatmap</button>
          <button class={a.panel === 'cost' ? 'on' : ''} onClick={this.keys().e}>explain</button>
          <button class={a.panel === 'changed' ? 'on' : ''} onClick={this.keys().c}>what changed?</button>
          <Menu label="share" items={this.shares} /><button onClick={this.save}>save</button>
          <button aria-label="keys" onClick={() => this.setState({ help: true })}>?</button></span>
        <span class="status" role="status">{say}</span></div>
      {error && <p class="err" role="alert">{error}</p>}
      {a.embed && ans && ans.errors.filter(Boolean).map(e => <p class="err" role="alert">{e}</p>)}
      {wait && <p class="ask" role="alert">This would read {count(before!.rows)} hours of {count(before!.series)} series. <button onClick={this.askAnyway}>ask anyway</button>
        {before!.cheaper.some(Boolean) && <button onClick={this.askCheaper}>ask {before!.cheaper.find(Boolean)} instead</button>}</p>}
      {!a.subs.length ? <Welcome graph={s => this.go({ subs: [s] })} /> : a.view === 'table' ? <Table series={p.series} zone={a.tz} /> :
        <Graph picture={p} ready={!!ans} near={this.near()} label={`graph of ${p.series.length + p.cells.length} series; its numbers are in the legend and the table`}
          on={{ range: this.zoom, pick: n => this.toggle(p.series[n].name, false), axis: this.newNote,
                hover: (t, n) => this.setState({ hover: { t, near: n == null ? null : p.series[n].name + p.series[n].old } }) }} />}
      {a.panel === 'cost' && <CostPanel ans={ans} before={before} close={() => this.go({ panel: '' })} />}
      {a.panel === 'changed' && ans && <Changed a={a} r={{ from: ans.from, to: ans.to }} close={() => this.go({ panel: '' })}
        pick={(i, k, v) => this.addTag(i, tagOf(k, v))} />}
      {ans && <Legend entries={this.entries} sort={a.sort} hidden={Math.max(0, ans.series.length - most)} hover={hover}
        setSort={sort => this.go({ sort })} toggle={this.toggle} split={(i, k) => this.addTag(i, k + '=*')} more={() => this.setState({ most: most + DRAWN })}
        point={near => this.setState({ hover: { t: hover.t, near } })} />}
      <Notes notes={p.notes} zone={a.tz} open={note => this.setState({ note: { note, fresh: false } })} />
    </main>;
  }

  render() {
    const { a, wantsLogin, note, copy, help } = this.state;
    this.prepare();
    if (wantsLogin) return <Login tried={hasTried()} done={(n, s) => { login(n, s); this.setState({ wantsLogin: false }); this.start(); }} />;
    const open = (query: string) => { history.pushState(null, '', query); this.change(fromHash(query)); };
    return <div id="page" class={(a.embed ? 'embed' : '') + (this.folded() ? ' folded' : '')}>
      <Head a={a} go={this.go} />
      {a.view === 'board' ? <main><Boards open={open} /></main> : a.view === 'health' ? <main><Health zone={a.tz} /></main> :
        a.view === 'explorer' ? <main><Explorer graph={(metric, tags) => this.go({ view: 'graph', subs: [newSub({ metric, tags })], exps: [], only: null })} /></main> : this.graphView()}
      {note && <NoteForm {...note} zone={a.tz} done={changed => { this.setState({ note: null }); if (changed) this.load(); }} />}
      {copy && <Copy {...copy} close={() => this.setState({ copy: null })} />}
      {help && <Help close={() => this.setState({ help: false })} />}
    </div>;
  }
}

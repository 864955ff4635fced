/* What is over the graph: the time, how it looks, and where to take it. */
import { Component, h } from 'preact';
import { Ask, isGraph } from './ask';
import { text } from './row';
import { setTheme, theme, Theme } from './theme';
import { absolute, shown } from './time';

export const ranges = ['15m', '1h', '6h', '1d', '1w', '4w', '1y'];
const shifts: [string, string][] = [['', 'compare…'], ['1d', 'a day before'], ['1w', 'a week before'], ['4w', '4 weeks before']];
const refresh = [0, 1, 5, 15, 60];
export const tabs: [string, string][] = [['graph', 'graph'], ['table', 'table'], ['board', 'saved'], ['explorer', 'series'], ['health', 'health']];

const zones = (): string[] => ['UTC', ...((Intl as any).supportedValuesOf?.('timeZone') || [])];
const looks: Theme[] = ['', 'light', 'dark'];

interface Props { a: Ask; go(next: Partial<Ask>): void }

/* All names of zones, when somebody wants to choose. */
class Zone extends Component<Props, { list: string[] }> {
  state = { list: [] as string[] };
  render() {
    const { a, go } = this.props;
    return <span><input aria-label="time zone" class="zone" list="zones" placeholder="time zone" value={a.tz} onFocus={() => this.setState({ list: zones() })}
      onChange={e => go({ tz: text(e).trim() })} /><datalist id="zones">{this.state.list.map(z => <option value={z} />)}</datalist></span>;
  }
}

export function Head({ a, go }: Props) {
  const time = (k: 'start' | 'end') => <input aria-label={k} class="time" placeholder="now" value={shown(a[k], a.tz)}
    aria-invalid={String(Number.isNaN(absolute(a[k], 0, a.tz)))} onChange={e => go({ [k]: text(e) })} />;
  return <header><h1>Halite</h1>
    <nav aria-label="views" class="tabs">{tabs.map(([k, l]) =>
      <button class={a.view === k ? 'on' : ''} aria-current={a.view === k ? 'page' : undefined} onClick={() => go({ view: k })}>{l}</button>)}</nav>
    {isGraph(a) && <nav aria-label="time range" class="ranges">{ranges.map(r =>
      <button class={a.start === r + '-ago' && !a.end ? 'on' : ''} onClick={() => go({ start: r + '-ago', end: '' })}>{r}</button>)}</nav>}
    <span class="fold times">
      {isGraph(a) && time('start')}{isGraph(a) && time('end')}
      {isGraph(a) && <select aria-label="live" value={String(a.live)} onChange={e => go({ live: +text(e) })}>
        {[...new Set([...refresh, a.live])].map(n => <option value={String(n)} selected={n === a.live}>{n ? `every ${n} s` : 'not live'}</option>)}</select>}
      {(isGraph(a) || a.view === 'health') && <Zone a={a} go={go} />}
      <select aria-label="colours" value={theme()} onChange={e => setTheme(text(e) as Theme)}>
        {looks.map(t => <option value={t} selected={t === theme()}>{t || 'system'}</option>)}</select>
    </span></header>;
}

export function Looks({ a, go }: Props) {
  const flag = (k: 'log' | 'log2' | 'zero' | 'stack' | 'diff', label: string) =>
    <button class={a[k] ? 'on' : ''} aria-pressed={String(a[k])} onClick={() => go({ [k]: !a[k] })}>{label}</button>;
  return <span class="looks">{flag('log', 'log')}{a.subs.some(s => s.right) && flag('log2', 'log right')}{flag('zero', 'zero')}{flag('stack', 'stack')}
    <select aria-label="compare" value={a.shift} onChange={e => go({ shift: text(e), diff: a.diff && !!text(e) })}>
      {!shifts.some(([k]) => k === a.shift) && <option selected>{a.shift}</option>}
      {shifts.map(([k, l]) => <option value={k} selected={k === a.shift}>{l}</option>)}</select>
    {a.shift && flag('diff', 'difference')}
    <input aria-label="thresholds" class="short" placeholder="thresholds" value={a.lines.join(' ')}
      onChange={e => go({ lines: text(e).split(/[\s,;]+/).filter(Boolean).map(Number).filter(Number.isFinite) })} /></span>;
}

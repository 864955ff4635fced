/* Annotations: shown as a list, which a screen reader finds, made and changed in a window. */
import { Component, h } from 'preact';
import { post } from './api';
import { Note } from './data';
import { Dialog } from './dialog';
import { text } from './row';
import { absolute, stamp } from './time';

interface Props { note: Note; fresh: boolean; zone: string; done(changed: boolean): void }
interface State { start: string; end: string; text: string; notes: string; error: string }

export class NoteForm extends Component<Props, State> {
  state: State = {
    start: stamp(Math.round(this.props.note.t), this.props.zone), end: this.props.note.end ? stamp(this.props.note.end, this.props.zone) : '',
    text: this.props.note.text, notes: this.props.note.notes, error: '',
  };
  private send = async (method: string) => {
    const { note, fresh, zone, done } = this.props, s = this.state, now = Date.now() / 1000;
    const t = fresh ? absolute(s.start, now, zone) : note.t, end = s.end ? absolute(s.end, now, zone) : 0;
    if (!(t >= 0) || !(end >= 0)) { this.setState({ error: 'times are written 2026-11-23 19:05:09' }); return; }
    if (end && end < t) { this.setState({ error: 'it cannot end before it starts' }); return; }
    const stored = (x: number) => x % 1 ? Math.round(x * 1000) : x;   // seconds, or milliseconds
    const body = { startTime: stored(t), ...note.raw, description: s.text, notes: s.notes, endTime: stored(end) };
    try {
      await post('api/annotation', body, method);
      done(true);
    } catch (e) {
      this.setState({ error: (e as Error).message });
    }
  };
  render() {
    const s = this.state, { fresh, done } = this.props;
    return <Dialog title={fresh ? 'new annotation' : 'annotation'} close={() => done(false)}>
      <form onSubmit={e => { e.preventDefault(); this.send(fresh ? 'POST' : 'PUT'); }}>
        <label>what <input aria-label="what happened" value={s.text} onInput={e => this.setState({ text: text(e) })} /></label>
        <label>from <input aria-label="annotation start" value={s.start} disabled={!fresh} onInput={e => this.setState({ start: text(e) })} /></label>
        <label>to <input aria-label="annotation end" value={s.end} placeholder="a moment" onInput={e => this.setState({ end: text(e) })} /></label>
        <label>notes <input aria-label="annotation notes" value={s.notes} onInput={e => this.setState({ notes: text(e) })} /></label>
        {s.error && <p class="err" role="alert">{s.error}</p>}
        <button type="submit">save</button> {!fresh && <button type="button" onClick={() => this.send('DELETE')}>delete</button>}
      </form></Dialog>;
  }
}

export function Notes({ notes, zone, open }: { notes: Note[]; zone: string; open(n: Note): void }) {
  if (!notes.length) return <span />;
  return <section aria-label="annotations" class="notes"><h2>Annotations</h2><ul>{notes.slice(0, 50).map(n =>
    <li><button class="plain" onClick={() => open(n)}>{stamp(n.t, zone)}</button> {n.text}</li>)}</ul></section>;
}

/* A text field with a list of what the server knows, with counts: at most 25, a moment after the last key. */
import { Component, h } from 'preact';
import { aborted, Latest } from './api';

export interface Choice { value: string; note: string }
interface Props {
  label: string; value: string; class?: string;
  look(text: string, signal: AbortSignal): Promise<Choice[]>;
  pick(value: string): void;
}
interface State { text: string; list: Choice[] | null; at: number }

export const SUGGESTIONS = 25;
const QUIET_MS = 80;

export class Suggest extends Component<Props, State> {
  state: State = { text: this.props.value, list: null, at: -1 };
  private latest = new Latest();
  private timer = 0;
  private id = 'list-' + this.props.label.replace(/\W/g, '-');

  componentWillReceiveProps(p: Props) { if (p.value !== this.props.value) this.setState({ text: p.value }); }
  componentWillUnmount() { this.close(); }

  private close = () => {
    clearTimeout(this.timer);
    this.latest.stop();
    this.setState({ list: null, at: -1 });
  };
  private look(text: string) {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(async () => {
      try {
        this.setState({ list: (await this.props.look(text, this.latest.next())).slice(0, SUGGESTIONS), at: -1 });
      } catch (e) {
        if (!aborted(e)) this.setState({ list: null });
      }
    }, QUIET_MS);
  }
  private pick(value: string) {
    this.close();
    this.setState({ text: value });
    if (value !== this.props.value) this.props.pick(value);
  }
  private input = (e: Event) => {
    const text = (e.currentTarget as HTMLInputElement).value;
    this.setState({ text });
    this.look(text);
  };
  private key = (e: KeyboardEvent) => {
    const { list, at, text } = this.state, n = list ? list.length : 0;
    if (e.key === 'ArrowDown' && n) this.setState({ at: (at + 1) % n });
    else if (e.key === 'ArrowUp' && n) this.setState({ at: (at + n - 1) % n });
    else if (e.key === 'Enter' && !e.ctrlKey) this.pick(list && at >= 0 ? list[at].value : text);
    else if (e.key === 'Escape') { this.close(); this.setState({ text: this.props.value }); }
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  render() {
    const { label } = this.props, { text, list, at } = this.state, open = !!list && list.length > 0;
    return <span class={'suggest ' + (this.props.class || '')}>
      <input aria-label={label} placeholder={label} value={text} role="combobox" autocomplete="off" spellCheck={false}
        aria-expanded={String(open)} aria-controls={this.id} aria-activedescendant={at >= 0 ? this.id + at : undefined}
        onInput={this.input} onFocus={() => this.look(text)} onKeyDown={this.key}
        onBlur={() => this.pick(this.state.text)} />
      {open && <ul role="listbox" id={this.id}>{list!.map((c, i) =>
        <li role="option" id={this.id + i} aria-selected={String(i === at)} class={i === at ? 'at' : ''}
          onMouseDown={e => { e.preventDefault(); this.pick(c.value); }}>{c.value}<small>{c.note}</small></li>)}</ul>}
    </span>;
  }
}

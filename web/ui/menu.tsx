/* A button with a list below it. */
import { Component, h } from 'preact';

export interface Item { label: string; href?: string; run?(): void }

export class Menu extends Component<{ label: string; items(): Item[] }, { open: boolean }> {
  state = { open: false };
  private root: HTMLElement | null = null;
  private away = (e: Event) => { if (!this.root!.contains(e.target as Node)) this.setState({ open: false }); };
  componentDidMount() { document.addEventListener('mousedown', this.away); }
  componentWillUnmount() { document.removeEventListener('mousedown', this.away); }
  private key = (e: KeyboardEvent) => {
    if (e.key !== 'Escape') return;
    this.setState({ open: false });
    e.stopPropagation();
    this.root!.querySelector('button')!.focus();
  };
  render() {
    const { label } = this.props, { open } = this.state;
    return <span class="menu" ref={(e: any) => { this.root = e; }} onKeyDown={this.key}>
      <button aria-haspopup="menu" aria-expanded={String(open)} onClick={() => this.setState({ open: !open })}>{label} ▾</button>
      {open && <span role="menu">{this.props.items().map(i => i.href
        ? <a role="menuitem" href={i.href} target="_blank" rel="noopener">{i.label}</a> : !i.run ? <small>{i.label}</small>
        : <button role="menuitem" onClick={() => { this.setState({ open: false }); i.run!(); }}>{i.label}</button>)}</span>}
    </span>;
  }
}

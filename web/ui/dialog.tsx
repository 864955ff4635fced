/* A window over the page: the keyboard stays in it, Escape closes it. */
import { Component, ComponentProps, h } from 'preact';

interface Props { title: string; close(): void }

export class Dialog extends Component<Props & ComponentProps<any>, {}> {
  private root: HTMLDialogElement | null = null;
  componentDidMount() {
    this.root!.addEventListener('cancel', e => { e.preventDefault(); this.props.close(); });
    setTimeout(() => { if (this.root?.isConnected && !this.root.open) this.root.showModal(); });
  }
  render() {
    const { title, close, children } = this.props;
    return <dialog aria-label={title} ref={(e: any) => { this.root = e; }}
      onKeyDown={(e: KeyboardEvent) => { if (e.key === 'Escape') { e.stopPropagation(); close(); } }}>
      <h2>{title}<button class="plain close" aria-label="close" onClick={close}>×</button></h2><div>{children}</div></dialog>;
  }
}

/* A text to take along; the clipboard may be out of reach, so it is shown, too. */
export class Copy extends Component<{ title: string; text: string; close(): void }, { said: string }> {
  state = { said: '' };
  private copy = () => {
    const area = document.querySelector<HTMLTextAreaElement>('dialog textarea')!;
    area.select();
    const done = () => this.setState({ said: 'copied' }), byHand = () => document.execCommand('copy') ? done() : this.setState({ said: 'press Ctrl-C' });
    if (navigator.clipboard) navigator.clipboard.writeText(this.props.text).then(done, byHand); else byHand();
  };
  render() {
    const { title, text, close } = this.props;
    return <Dialog title={title} close={close}><textarea readOnly rows={8} aria-label={title} value={text} />
      <button onClick={this.copy}>copy</button> <span role="status">{this.state.said}</span></Dialog>;
  }
}

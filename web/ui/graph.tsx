/* The chart as a component: it is drawn when what it shows changes, not each time the page is. */
import { Component, h } from 'preact';
import { Chart, chart, Events, Picture } from './chart';

interface Props { picture: Picture; on: Events; near: number | null; label: string }

export class Graph extends Component<Props, {}> {
  private root: HTMLElement | null = null;
  private c: Chart | null = null;
  private size = new ResizeObserver(() => this.c?.show(this.props.picture));

  componentDidMount() {
    const forward: Events = {
      range: (a, b) => this.props.on.range(a, b), hover: (t, n) => this.props.on.hover(t, n),
      pick: n => this.props.on.pick(n), axis: t => this.props.on.axis(t),
    };
    this.c = chart(this.root!, forward);
    this.size.observe(this.root!);
  }
  componentDidUpdate(old: Props) {
    if (old.picture !== this.props.picture) this.c!.show(this.props.picture);
    else if (old.near !== this.props.near) this.c!.mark(this.props.near);
  }
  componentWillUnmount() {
    this.size.disconnect();
    this.c?.destroy();
  }
  render() {
    return <div class="plot" role="img" aria-label={this.props.label} ref={(e: any) => { this.root = e; }} />;
  }
}

/* The chart as a component: it is drawn when what it shows changes, not each time the page is. */
import { Component, h } from 'preact';
import { Chart, chart, Events, Picture } from './chart';

/* 'ready': there is an answer to draw; before that the chart is not made. */
interface Props { picture: Picture; ready: boolean; on: Events; near: number | null; label: string }

export class Graph extends Component<Props, {}> {
  private root: HTMLElement | null = null;
  private c: Chart | null = null;
  private size = new ResizeObserver(() => this.draw());

  componentDidMount() {
    const forward: Events = {
      range: (a, b) => this.props.on.range(a, b), hover: (t, n) => this.props.on.hover(t, n),
      pick: n => this.props.on.pick(n), axis: t => this.props.on.axis(t),
    };
    this.c = chart(this.root!, forward);
    this.size.observe(this.root!);
  }
  /* In a task of its own: the rest of the page is drawn before. */
  private later = 0;
  private draw() {
    clearTimeout(this.later);
    if (this.props.ready) this.later = window.setTimeout(() => this.c?.show(this.props.picture));
  }
  componentDidUpdate(old: Props) {
    if (old.picture !== this.props.picture || old.ready !== this.props.ready) this.draw();
    else if (old.near !== this.props.near) this.c!.mark(this.props.near);
  }
  componentWillUnmount() {
    this.size.disconnect();
    this.c?.destroy();
    this.c = null;
  }
  render() {
    return <div class="plot" role="img" aria-label={this.props.label} ref={(e: any) => { this.root = e; }} />;
  }
}

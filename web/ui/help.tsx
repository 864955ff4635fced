/* The keys. */
import { h } from 'preact';
import { Dialog } from './dialog';

export const keys: [string, string][] = [
  ['/', 'metric'], ['1 – 7', '15 minutes to a year'], ['← →', 'pan'], ['+ -', 'zoom in, out'], ['z', 'undo (Back)'], ['l', 'log'], ['s', 'stack'],
  ['0', 'from zero'], ['w', 'last week beneath'], ['d', 'difference to last week'], ['t', 'table'], ['r', 'refresh'], ['e', 'explain: what it costs'],
  ['c', 'what changed?'], ['n', 'new annotation'], ['Esc', 'all series'], ['Ctrl-Enter', 'ask again'], ['?', 'this'],
];

export const Help = ({ close }: { close(): void }) => <Dialog title="keys" close={close}>
  <table>{keys.map(([k, what]) => <tr><th scope="row"><kbd>{k}</kbd></th><td>{what}</td></tr>)}</table>
  <p>On the graph: drag to zoom, shift-drag or two fingers to pan, Ctrl and the wheel to zoom, a click on a line to see it alone, a click
    on the time axis for an annotation. In the legend: a click to see one alone, Ctrl-click to show or hide.</p>
  <p><small>Halite {VERSION}</small></p></Dialog>;

/* Mouse and fingers on a graph: drag zooms, shift-drag and two fingers pan, ctrl-wheel and pinch zoom. */
import { Box } from './lines';

export interface Gestures {
  box(): Box;
  range(): [number, number];
  preview(from: number, to: number): void;   // while it moves
  done(from: number, to: number): void;
  hover(x: number | null, y: number): void;
  click(x: number, y: number): void;
}

const DRAG_PX = 5;

/* Returns what takes the listeners away again. */
export function gestures(root: HTMLElement, on: Gestures): () => void {
  const area = document.createElement('div');
  area.className = 'area';
  area.hidden = true;
  root.appendChild(area);
  const at = (e: { clientX: number; clientY: number }) => {
    const r = root.getBoundingClientRect();
    return { x: e.clientX - r.left, y: e.clientY - r.top };
  };
  const time = (x: number, [from, to]: [number, number]) => { const b = on.box(); return from + (x - b.x) / b.w * (to - from); };
  const off: (() => void)[] = [];
  const listen = <K extends keyof HTMLElementEventMap>(to: HTMLElement | Window, k: K, f: (e: HTMLElementEventMap[K]) => void) => {
    to.addEventListener(k, f as EventListener, { passive: false });
    off.push(() => to.removeEventListener(k, f as EventListener));
  };

  let drag: { x: number; y: number; pan: boolean; range: [number, number]; moved: boolean } | null = null;
  listen(root, 'mousedown', e => {
    if (e.button || (e.target as HTMLElement).closest('button,a,input')) return;
    drag = { ...at(e), pan: e.shiftKey, range: on.range(), moved: false };
    e.preventDefault();
  });
  listen(window, 'mousemove', e => {
    const { x, y } = at(e);
    if (!drag) {
      if (root.contains(e.target as Node)) on.hover(x, y);
      return;
    }
    if (Math.abs(x - drag.x) > DRAG_PX) drag.moved = true;
    if (!drag.moved) return;
    const b = on.box();
    if (drag.pan) {
      const d = time(drag.x, drag.range) - time(x, drag.range);
      on.preview(drag.range[0] + d, drag.range[1] + d);
    } else {
      const to = Math.max(b.x, Math.min(b.x + b.w, x));
      area.hidden = false;
      area.style.cssText = `left:${Math.min(drag.x, to)}px;width:${Math.abs(to - drag.x)}px;top:${b.y}px;height:${b.h}px`;
    }
  });
  listen(window, 'mouseup', e => {
    const d = drag, { x, y } = at(e);
    drag = null;
    area.hidden = true;
    if (!d) return;
    if (!d.moved) { on.click(x, y); return; }
    const a = time(d.x, d.range), b = time(x, d.range);
    if (d.pan) on.done(d.range[0] + a - b, d.range[1] + a - b);
    else on.done(Math.max(d.range[0], Math.min(a, b)), Math.min(d.range[1], Math.max(a, b)));
  });
  listen(root, 'mouseleave', () => on.hover(null, 0));

  /* A turn of the wheel is one step, however many events it makes. */
  let settle = 0, wheel: [number, number] | null = null;
  listen(root, 'wheel', e => {
    if (!e.ctrlKey && !e.metaKey) return;
    e.preventDefault();
    wheel = wheel || on.range();
    const t = time(at(e).x, wheel), k = Math.exp(Math.max(-1, Math.min(1, e.deltaY / 300)));
    wheel = [t - (t - wheel[0]) * k, t + (wheel[1] - t) * k];
    on.preview(...wheel);
    clearTimeout(settle);
    settle = window.setTimeout(() => { const w = wheel!; wheel = null; on.done(...w); }, 250);
  });

  let two: { a: number; b: number; range: [number, number]; now: [number, number] } | null = null;
  const fingers = (e: TouchEvent) => [at(e.touches[0]).x, at(e.touches[1]).x];
  listen(root, 'touchstart', e => {
    if (e.touches.length === 1) { const p = at(e.touches[0]); on.hover(p.x, p.y); return; }
    const [a, b] = fingers(e), range = on.range();
    two = { a, b, range, now: range };
    e.preventDefault();
  });
  listen(root, 'touchmove', e => {
    if (!two || e.touches.length < 2) return;
    const [a, b] = fingers(e), ta = time(two.a, two.range), tb = time(two.b, two.range), box = on.box();
    const span = Math.abs(b - a) < 8 ? two.range[1] - two.range[0] : (tb - ta) / (b - a) * box.w;
    const from = (ta + tb) / 2 - ((a + b) / 2 - box.x) / box.w * span;
    two.now = [from, from + span];
    on.preview(...two.now);
    e.preventDefault();
  });
  listen(root, 'touchend', () => { if (two) { const w = two.now; two = null; on.done(...w); } });
  return () => { clearTimeout(settle); off.forEach(f => f()); };
}

/* Keys that are pressed while no field has the focus. */
export type Keys = Record<string, () => void>;

export function keyboard(keys: () => Keys): () => void {
  const press = (e: KeyboardEvent) => {
    const at = e.target as HTMLElement;
    if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) { at.blur(); keys()['Ctrl-Enter'](); return; }
    if (e.ctrlKey || e.metaKey || e.altKey || at.closest('input,select,textarea,dialog')) return;
    if (e.key === 'Enter' || e.key === ' ') return;
    const f = keys()[e.key];
    if (!f) return;
    e.preventDefault();
    f();
  };
  addEventListener('keydown', press);
  return () => removeEventListener('keydown', press);
}

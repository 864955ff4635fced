/* Light, dark, or as the system has it; of this browser.  An event "theme" tells of changes. */
const KEY = 'halite.theme';
export type Theme = '' | 'light' | 'dark';

export const theme = (): Theme => (localStorage.getItem(KEY) || '') as Theme;
const system = matchMedia('(prefers-color-scheme:dark)');
export const isDark = () => theme() ? theme() === 'dark' : system.matches;

const changed = () => { document.documentElement.dataset.theme = theme(); dispatchEvent(new Event('theme')); };
export function setTheme(t: Theme) {
  localStorage.setItem(KEY, t);
  changed();
}
system.addEventListener('change', changed);
changed();

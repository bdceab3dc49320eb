// Light and dark: as the system has it, or as chosen here.
import { byId, setText } from './dom.js';

const kKey = 'starling-theme';
const kThemes = { auto: 'Theme: system', light: 'Theme: light', dark: 'Theme: dark' };

const chosen = () => (localStorage.getItem(kKey) in kThemes ? localStorage.getItem(kKey) : 'auto');

function apply() {
  const theme = chosen();
  if (theme === 'auto') document.documentElement.removeAttribute('data-theme');
  else document.documentElement.setAttribute('data-theme', theme);
  setText(byId('theme'), kThemes[theme]);
}

// `changed` draws anew what took its colours from the theme.
export function listenForTheme(changed) {
  apply();
  byId('theme').addEventListener('click', () => {
    const names = Object.keys(kThemes);
    localStorage.setItem(kKey, names[(names.indexOf(chosen()) + 1) % names.length]);
    apply();
    changed();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);
}

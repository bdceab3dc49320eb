// The button that chooses the theme.
import { byId, setText } from './dom.js';

const kTexts = { auto: 'Theme: system', light: 'Theme: light', dark: 'Theme: dark' };

// `changed` draws anew what took its colours from the theme.
export function listenForTheme(changed) {
  const name = () => setText(byId('theme'), kTexts[starlingTheme.choice()]);
  byId('theme').addEventListener('click', starlingTheme.chooseNext);
  starlingTheme.onChange(name);
  starlingTheme.onChange(changed);
  name();
}

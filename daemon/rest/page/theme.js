// Light and dark: as the system has it, or as chosen here. The head loads this script before the
// first paint, which a module would come after; modules find `starlingTheme` as they find uPlot.
'use strict';

const starlingTheme = (() => {
  const kKey = 'starling-theme';
  const kChoices = ['auto', 'light', 'dark'];
  const system = matchMedia('(prefers-color-scheme: dark)');
  const listeners = [];

  function choice() {
    const kept = localStorage.getItem(kKey);
    return kChoices.includes(kept) ? kept : 'auto';
  }

  function apply() {
    const ofSystem = system.matches ? 'dark' : 'light';
    const theme = choice() === 'auto' ? ofSystem : choice();
    document.documentElement.dataset.theme = theme;
    for (const listener of listeners) listener();
  }

  function chooseNext() {
    localStorage.setItem(kKey, kChoices[(kChoices.indexOf(choice()) + 1) % kChoices.length]);
    apply();
  }

  system.addEventListener('change', apply);
  apply();
  // `onChange` takes what draws anew where colours were taken from the theme.
  return { choice, chooseNext, onChange: (listener) => listeners.push(listener) };
})();

// "Copy as curl": the command that prints what a panel shows.
import { hasToken } from './api.js';
import { element, setText } from './dom.js';

const kText = 'Copy as curl';
const kSaid_ms = 2000;

// The token itself stays out of the clipboard.
function command(path) {
  const token = hasToken() ? ' -H "Authorization: Bearer $TOKEN"' : '';
  return `curl -s${token} '${new URL(path, document.baseURI)}'`;
}

// Beyond localhost, a page without TLS has no clipboard but the old one.
function copyByCommand(text) {
  const field = document.createElement('textarea');
  field.value = text;
  document.body.append(field);
  field.select();
  const done = document.execCommand('copy');
  field.remove();
  return done;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyByCommand(text);
  }
}

// The button of each panel, whose head names the resource that the panel shows.
export function addCurlButtons() {
  for (const head of document.querySelectorAll('.head')) {
    const button = element('button', { class: 'curl', type: 'button' }, kText);
    button.addEventListener('click', async () => {
      const done = await copy(command(head.dataset.path));
      setText(button, done ? 'Copied' : 'Not copied');
      setTimeout(() => setText(button, kText), kSaid_ms);
    });
    head.append(button);
  }
}

// "Copy as curl": the command that prints what a panel shows.
import { hasToken } from './api.js';
import { setText } from './dom.js';

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

export function listenForCurl() {
  for (const button of document.querySelectorAll('button.curl')) {
    const text = button.textContent;
    button.addEventListener('click', async () => {
      const done = await copy(command(button.dataset.path));
      setText(button, done ? 'Copied' : 'Not copied');
      setTimeout(() => setText(button, text), kSaid_ms);
    });
  }
}

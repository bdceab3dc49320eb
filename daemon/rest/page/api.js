// The REST interface of the node that this page is of: one question at a time for each resource,
// with the node's token where it asks for one.
import { byId } from './dom.js';

const kPatience_ms = 8000;
const kTokenKey = 'starling-token';

// The node answered, and not with what was asked for.
export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export const hasToken = () => sessionStorage.getItem(kTokenKey) !== null;

let dialog = null;  // the promise of a token, while one is asked for

function askForToken() {
  if (dialog) return dialog;
  byId('token-refused').hidden = !hasToken();
  byId('token-dialog').showModal();
  dialog = new Promise((resolve) => {
    byId('token-form').addEventListener('submit', (submit) => {
      submit.preventDefault();
      sessionStorage.setItem(kTokenKey, byId('token').value.trim());
      byId('token-dialog').close();
      dialog = null;
      resolve();
    }, { once: true });
  });
  return dialog;
}

function request(path) {
  const headers = { Accept: 'application/json' };
  if (hasToken()) headers.Authorization = `Bearer ${sessionStorage.getItem(kTokenKey)}`;
  return fetch(path, { headers, cache: 'no-store', signal: AbortSignal.timeout(kPatience_ms) });
}

async function refusal(response) {
  const answer = await response.json().catch(() => null);
  return new Refusal(response.status, String(answer?.error?.message ?? response.statusText));
}

// The document of a resource. Throws a Refusal, or what fetch throws where nobody answers.
export async function ask(path) {
  for (;;) {
    const used = sessionStorage.getItem(kTokenKey);
    const response = await request(path);
    if (response.ok) return response.json();
    if (response.status !== 401) throw await refusal(response);
    // Another question may have got a token meanwhile.
    if (used === sessionStorage.getItem(kTokenKey)) await askForToken();
  }
}

// Polls: each asks for one resource again and again, and never while an answer is under way. Where
// answers take long, or nobody looks at the page, it asks less often.
import { ask, Refusal } from './api.js';

const kHidden_ms = 15000;   // between questions while the page is in the background
const kMissing_ms = 30000;  // until a resource that this node does not have is asked for again
const kWaitShare = 3;       // times what an answer took

const sleepers = new Set();
const wakeAll = () => [...sleepers].forEach((wake) => wake());
document.addEventListener('visibilitychange', () => document.hidden || wakeAll());

function pause(milliseconds) {
  return new Promise((resolve) => {
    const wake = () => {
      clearTimeout(timer);
      sleepers.delete(wake);
      resolve();
    };
    const timer = setTimeout(wake, milliseconds);
    sleepers.add(wake);
  });
}

// The document; null where the node has no such resource; undefined where there was no answer.
async function attempt(path, contact) {
  try {
    const document = await ask(path);
    contact(null);
    return document;
  } catch (problem) {
    const isMissing = problem instanceof Refusal && problem.status === 404;
    contact(isMissing ? null : problem);
    return isMissing ? null : undefined;
  }
}

// `path` gives what to ask for now. `heard` takes a document, null where the node has no such
// resource. `contact` hears of every attempt: null for an answer, else what went wrong.
export async function poll({ path, period_ms, heard, contact = () => {} }) {
  for (;;) {
    const begun = performance.now();
    const answer = await attempt(path(), contact);
    const took_ms = performance.now() - begun;
    try {
      if (answer !== undefined) heard(answer);
    } catch (mistake) {
      console.error(mistake);  // of this page; the next answer may be shown all the same
    }
    const slow_ms = answer === undefined ? 0 : kWaitShare * took_ms;
    const wait_ms = Math.max(answer === null ? kMissing_ms : period_ms, slow_ms);
    await pause(document.hidden ? Math.max(wait_ms, kHidden_ms) : wait_ms);
  }
}

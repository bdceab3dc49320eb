// Whether the node answers, and the line that says since when it does not.
import { Refusal } from './api.js';
import { byId, showText } from './dom.js';
import { clock, duration } from './format.js';

const kPatience_ms = 3000;  // of silence before it is said

export class Contact {
  constructor() {
    this.lastAnswer = new Date();
    this.problem = null;
    setInterval(() => this.show(), 1000);
  }

  // Of one question: null where it was answered, else what was thrown.
  note(problem) {
    const answered = problem === null || problem instanceof Refusal;
    if (answered) this.lastAnswer = new Date();
    this.problem = problem;
    if (answered) this.show();
    else console.warn(problem);
  }

  text() {
    if (this.problem instanceof Refusal) return `The node answers: ${this.problem.message}.`;
    const silent_ms = Date.now() - this.lastAnswer.getTime();
    if (this.problem === null || silent_ms < kPatience_ms) return '';
    return `No answer from this node since ${clock(this.lastAnswer)}, for ` +
           `${duration(silent_ms / 1000)}. What is below is what it said last.`;
  }

  show() {
    const text = this.text();
    showText(byId('silence'), text);
    document.body.classList.toggle('is-silent', text !== '');
  }
}

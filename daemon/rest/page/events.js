// What happened, newest first, by kind and by words.
import { byId, element, setText } from './dom.js';
import { integer } from './format.js';

const kEventsLimit = 1000;  // as many as the node keeps
const kShown = 200;

export class Events {
  constructor() {
    this.clear();
    byId('kind').addEventListener('change', () => this.show());
    byId('filter').addEventListener('input', () => this.show());
  }

  clear() {
    this.events = [];
  }

  get last() {
    return this.events.at(-1)?.sequence ?? 0;
  }

  add(events) {
    const fresh = events.filter(({ sequence }) => sequence > this.last);
    if (fresh.length === 0) return;
    this.events = [...this.events, ...fresh].slice(-kEventsLimit);
    for (const { kind } of fresh) this.offer(kind);
    this.show();
  }

  // A choice of the filter.
  offer(kind) {
    if ([...byId('kind').options].some(({ value }) => value === kind)) return;
    byId('kind').append(element('option', { value: kind }, kind.replaceAll('_', ' ')));
  }

  matching() {
    const kind = byId('kind').value;
    const words = byId('filter').value.toLowerCase().split(/\s+/).filter((word) => word);
    return this.events.filter((event) => (!kind || event.kind === kind) &&
      words.every((word) => event.text.toLowerCase().includes(word)));
  }

  show() {
    const found = this.matching().reverse();
    byId('log').replaceChildren(...found.slice(0, kShown).map((event) =>
      element('li', { class: `is-${event.kind}` }, element('time', { datetime: event.at }, event.at.slice(11, 19)),
              element('span', { class: 'kind' }, event.kind.replaceAll('_', ' ')), element('span', {}, event.text))));
    setText(byId('log-count'), found.length > kShown
      ? `The newest ${kShown} of ${integer(found.length)}; the node keeps its last 1,000.`
      : `${integer(found.length)} of ${integer(this.events.length)}; the node keeps its last 1,000.`);
  }
}

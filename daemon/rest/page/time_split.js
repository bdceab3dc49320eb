// Where a node's time goes, since its start and in the last minute.
import { byId, element, setText } from './dom.js';
import { duration, percent } from './format.js';

const kRecent_s = 60;
const kParts = [
  { key: 'compute', label: 'computing', of: (time) => time.compute_s - time.evaluate_s,
    help: 'Local steps: what the node is there for.' },
  { key: 'evaluate', label: 'evaluating', of: (time) => time.evaluate_s,
    help: 'Loss and accuracy on held-out samples: a larger eval.every, or fewer eval.samples, would save it.' },
  { key: 'network', label: 'waiting for the network', of: (time) => time.network_wait_s,
    help: 'Waiting while a neighbour’s vector was on its way: a faster network, or more local steps a round, would save it.' },
  { key: 'wait', label: 'waiting for neighbours', of: (time) => time.wait_s - time.network_wait_s,
    help: 'Waiting for neighbours that had not sent yet: they are slower than this node.' },
  { key: 'mix', label: 'mixing', of: (time) => time.mix_s,
    help: 'Averaging the vectors that came with its own.' },
  { key: 'other', label: 'other', of: (time) => time.other_s,
    help: 'Messages, and threads that wait for a processor: fewer programs on this machine would save it.' },
];

const amounts = (time) => kParts.map(({ of }) => Math.max(0, of(time)));

class Split {
  constructor(title) {
    this.bar = element('div', { class: 'bar', 'aria-hidden': 'true' },
      ...kParts.map(({ key }) => element('span', { class: `part is-${key}` })));
    this.list = element('ul', { class: 'parts' }, ...kParts.map(({ key, help }) =>
      element('li', { title: help }, element('span', { class: `mark is-${key}` }), element('span'))));
    this.title = element('h3', {}, title);
    this.root = element('div', { class: 'split' }, this.title, this.bar, this.list);
    byId('splits').append(this.root);
  }

  show(parts) {
    const total = parts.reduce((sum, part) => sum + part, 0);
    kParts.forEach(({ label }, k) => {
      const share = total > 0 ? parts[k] / total : 0;
      this.bar.children[k].style.width = `${100 * share}%`;
      setText(this.list.children[k].lastElementChild,
              `${label} ${percent(Math.round(1000 * share) / 1000)}, ${duration(parts[k])}`);
    });
  }
}

export class TimeSplit {
  constructor() {
    this.recent = [];  // {uptime_s, amounts} of the last minute
    this.splits = [new Split(''), new Split('Since the node started')];
  }

  update({ node: { uptime_s }, time }) {
    const all = amounts(time);
    if (uptime_s < this.recent.at(-1)?.uptime_s) this.recent = [];  // the node was started anew
    this.recent.push({ uptime_s, amounts: all });
    while (this.recent[0].uptime_s < uptime_s - kRecent_s) this.recent.shift();
    const { uptime_s: since_s, amounts: before } = this.recent[0];
    const lasted_s = Math.min(Math.round(uptime_s - since_s), kRecent_s);
    this.splits[0].root.hidden = lasted_s === 0;
    setText(this.splits[0].title, `In the last ${duration(lasted_s)}`);
    this.splits[0].show(all.map((amount, k) => Math.max(0, amount - before[k])));
    this.splits[1].show(all);
  }
}

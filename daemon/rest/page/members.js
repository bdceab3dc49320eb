// The table of nodes, sorted by any column.
import { byId, element, setText } from './dom.js';
import { addressOf, byName, pageOf, standing } from './fleet_nodes.js';
import { decimal, duration, integer } from './format.js';

// `of` gives the text of a cell, `by` what is sorted by: a number or undefined, else the name is.
const kColumns = [
  { title: 'Node', of: (node) => node.name },
  { title: 'State', of: (node) => standing(node.member), compare: (a, b) =>
    standing(a.member).localeCompare(standing(b.member)) },
  { title: 'Round', of: (node) => integer(node.round), by: (node) => node.round },
  { title: 'Behind', of: (node) => integer(node.behind), by: (node) => node.behind, narrow: true },
  { title: 'Ago', of: (node) => (node.isSelf ? 'now' : duration(node.member.round_age_s)),
    by: (node) => node.member.round_age_s, narrow: true },
  { title: 'Loss', of: (node) => decimal(node.member.loss), by: (node) => node.member.loss },
  { title: 'Heard', by: (node) => node.member.last_heard_s,
    of: (node) => (node.isSelf ? 'is this' : duration(node.member.last_heard_s)) },
  { title: 'Address', of: (node) => addressOf(node.member), wide: true },
];

// What is not known comes last, whichever the direction.
function comparison({ by, compare }, direction) {
  if (compare) return (a, b) => direction * compare(a, b) || byName(a, b);
  if (!by) return (a, b) => direction * byName(a, b);
  return (a, b) => {
    const [left, right] = [by(a), by(b)];
    if (left === undefined || right === undefined)
      return (left === undefined) - (right === undefined) || byName(a, b);
    return direction * (left - right) || byName(a, b);
  };
}

export class Members {
  constructor() {
    this.rows = new Map();  // by name
    this.column = 0;
    this.direction = 1;
    this.nodes = [];
    this.heads = kColumns.map((column, k) => this.head(column, k));
    byId('columns').append(...this.heads);
    this.showDirection();
  }

  head(column, k) {
    const button = element('button', { type: 'button' }, column.title);
    button.addEventListener('click', () => this.sortBy(k));
    return element('th', { scope: 'col', class: classOf(column) }, button);
  }

  sortBy(k) {
    this.direction = this.column === k ? -this.direction : 1;
    this.column = k;
    this.showDirection();
    this.show();
  }

  showDirection() {
    this.heads.forEach((head, k) => head.setAttribute('aria-sort',
      k !== this.column ? 'none' : this.direction > 0 ? 'ascending' : 'descending'));
  }

  update(nodes) {
    this.nodes = nodes.filter(({ member }) => member);
    this.show();
  }

  show() {
    this.nodes.sort(comparison(kColumns[this.column], this.direction));
    const names = new Set(this.nodes.map(({ name }) => name));
    for (const [name, row] of this.rows) {
      if (names.has(name)) continue;
      row.remove();
      this.rows.delete(name);
    }
    this.nodes.forEach((node, k) => this.place(this.row(node), k));
  }

  // Moves only rows that stand elsewhere.
  place(row, k) {
    const body = byId('rows');
    if (body.children[k] !== row) body.insertBefore(row, body.children[k] ?? null);
  }

  row(node) {
    let row = this.rows.get(node.name);
    if (!row) {
      row = element('tr', {}, ...kColumns.map((column) => element('td', { class: classOf(column) })));
      this.rows.set(node.name, row);
    }
    row.className = `is-${node.member.state} in-${node.member.phase}${node.isSelf ? ' is-self' : ''}`;
    kColumns.forEach((column, k) => (k === 0 ? showName(row.children[0], node)
                                             : setText(row.children[k], column.of(node))));
    return row;
  }
}

const classOf = ({ by, narrow, wide }) =>
  [by ? 'number' : 'word', narrow ? 'narrow' : '', wide ? 'wide' : ''].join(' ').trim();

// A link to the node's own page, where it has one that is not this.
function showName(cell, node) {
  const page = node.isSelf ? null : pageOf(node.member);
  const key = `${node.name} ${page}`;
  if (cell.dataset.key === key) return;
  cell.dataset.key = key;
  cell.replaceChildren(page ? element('a', { href: page }, node.name) : node.name);
}

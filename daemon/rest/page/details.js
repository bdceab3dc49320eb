// What this node knows of one node of the graph.
import { byId, element } from './dom.js';
import { pageOf, standing } from './fleet_nodes.js';
import { bytes, decimal, duration, integer, percent, rate } from './format.js';

const kLinesShown = 6;

// Of this node, what its status says; its round and loss are those that stand in the table.
function ownFacts({ node, run, topology }, member) {
  const shard = run.shard?.description ?? `${integer(run.shard?.samples)} samples`;
  const rows = [
    ['state', node.state], ['algorithm', run.algorithm], ['schedule', run.schedule],
    ['round', integer(member?.round)], ['loss', decimal(member?.loss)],
    ['learning rate', decimal(run.learning_rate)], ['trains on', shard],
    ['local steps', integer(run.local_steps)],
    ['neighbours', `${integer(topology.degree)} (${topology.kind})`],
  ];
  if (topology.spectral_gap !== undefined) rows.push(['spectral gap', decimal(topology.spectral_gap)]);
  if (member?.waits_for) rows.push(['waits', waits(member)]);
  if (run.problem) rows.push(['problem', run.problem]);
  return rows;
}

const waits = (member) => `for ${member.waits_for}, ${percent(member.waiting)} of the time`;

function facts({ member, edge, round, behind, isSelf }, status) {
  if (isSelf && status) return ownFacts(status, member);
  const rows = [];
  if (member) {
    rows.push(['state', standing(member)], ['round', integer(round)]);
    if (behind > 0) rows.push(['behind', behind === 1 ? '1 round' : `${integer(behind)} rounds`]);
    rows.push(['loss', decimal(member.loss)]);
    if (member.waits_for) rows.push(['waits', waits(member)]);
    rows.push(['last heard', `${duration(member.last_heard_s)} ago`]);
    rows.push(['address', member.control]);
  }
  return edge ? [...rows, ...edgeFacts(edge)] : rows;
}

function edgeFacts(edge) {
  return [
    ['edge to it', edge.state], ['weight', decimal(edge.weight)],
    ['distance', decimal(edge.distance)], ['round trip', duration(edge.rtt_s)],
    ['to it', `${rate(edge.send_bytes_per_s)}, ${bytes(edge.sent_bytes)} in all`],
    ['from it', `${rate(edge.receive_bytes_per_s)}, ${bytes(edge.received_bytes)} in all`],
    ['waited for', `up to ${duration(edge.patience_s)} a round`],
  ];
}

// Whether a text speaks of the node: node-1 is not in "node-12 joined".
function names(text, name) {
  const at = text.indexOf(name);
  return at >= 0 && !/[\w-]/.test(text.charAt(at + name.length)) && !/[\w-]/.test(text.charAt(at - 1));
}

// The node's own reasons for this node; of others what this node says of them.
function remarks({ name, isSelf }, { status, events }) {
  const reasons = status?.node.reasons ?? [];
  const said = isSelf ? reasons : reasons.filter((reason) => names(reason, name));
  const lately = isSelf ? [] : events.filter(({ text }) => names(text, name)).slice(-3).reverse()
    .map(({ at, text }) => `${at.slice(11, 19)} ${text}`);
  return [...said, ...lately].slice(0, kLinesShown);
}

function heading(node) {
  const page = node.isSelf ? null : pageOf(node.member);
  const title = element('h3', {}, node.name, node.isSelf ? ' (this node)' : '');
  return page ? [title, element('a', { href: page, class: 'own-page' }, 'Its own page')] : [title];
}

let shown = '';

export function showDetails(node, state) {
  if (!node) return;
  const rows = facts(node, state.status);
  const lines = remarks(node, state);
  const all = JSON.stringify([node.name, rows, lines]);
  if (all === shown) return;
  shown = all;
  byId('details').replaceChildren(
    ...heading(node),
    element('dl', {}, ...rows.flatMap(([name, value]) => [element('dt', {}, name),
                                                           element('dd', {}, value)])),
    ...(lines.length > 0 ? [element('ul', { class: 'remarks' },
                                    ...lines.map((line) => element('li', {}, line)))] : []));
}

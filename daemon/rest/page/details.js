// What this node knows of one node of the graph.
import { byId, element } from './dom.js';
import { addressOf, pageOf, standing } from './fleet_nodes.js';
import { bytes, decimal, duration, integer, percent, rate } from './format.js';

const kLinesShown = 6;

// Of this node, what its status says; its round and loss are those that stand in the table.
function ownFacts({ node, run, topology, security, traffic }, member) {
  const shard = run.shard?.description ?? `${integer(run.shard?.samples)} samples`;
  return [
    ['state', node.state], ['algorithm', run.algorithm], ['schedule', run.schedule],
    run.codec.memory_bytes > 0 && ['codec', codecWords(run.codec)],
    ['round', integer(member?.round)], ['loss', decimal(member?.loss)],
    ['learning rate', decimal(run.learning_rate)], ['trains on', shard],
    ['local steps', integer(run.local_steps)],
    ['sends', `${rate(traffic.sent_bytes_per_s)}, at most ${rate(traffic.sent_peak_bytes_per_s)}`],
    ['neighbours', `${integer(topology.degree)} (${kindWords(topology)})`],
    topology.spectral_gap !== undefined && ['spectral gap', decimal(topology.spectral_gap)],
    run.privacy && ['privacy', privacyWords(run.privacy)],
    member?.waits_for && ['waits', waits(member)], run.problem && ['problem', run.problem],
    ['keys', security.encrypted ? `encrypted, certificate until ${security.certificate.until}`
      : 'none: connections are not encrypted'],
    ...Object.entries(security.refused).map(([reason, count]) => ['refused', `${integer(count)} ${reason}`]),
  ];
}

const kindWords = ({ kind, chosen }) => (chosen ? `${chosen}, by ${kind}` : kind);

// Epsilon is absent where there is no bound.
const privacyWords = ({ epsilon, delta, steps }) =>
  `${epsilon === undefined ? 'no bound' : `epsilon ${decimal(epsilon)}`} at delta ${delta}, ${integer(steps)} noisy steps`;

const waits = (member) => `for ${member.waits_for}, ${percent(member.waiting)} of the time`;

// Of a codec that remembers: "i4, quality 0.97, 121 kB a vector, 7.76 × less than f32, …".
const codecWords = ({ name, chosen, quality, vector_bytes, f32_bytes, memory_bytes }) =>
  [chosen ? `${name}: ${chosen}` : name, `quality ${decimal(quality)}`, `${bytes(vector_bytes)} a vector`,
   `${decimal(f32_bytes / vector_bytes)} × less than f32`, `${bytes(memory_bytes)} remembered`].join(', ');

// What this node has heard of another.
function memberFacts(member, behind) {
  return [
    ['state', standing(member)],
    ['round', `${integer(member.round)}, ${duration(member.round_age_s)} ago`],
    behind > 0 && ['behind', behind === 1 ? '1 round' : `${integer(behind)} rounds`],
    member.loss !== undefined && ['loss', `${decimal(member.loss)}, ${duration(member.told_s)} ago`],
    member.waits_for && ['waits', waits(member)],
    ['last heard', `${duration(member.last_heard_s)} ago`], ['address', addressOf(member)],
    member.certificate && ['certificate', `until ${member.certificate.until}`],
  ];
}

function edgeFacts(edge) {
  return [
    ['edge to it', edge.state], ['weight', decimal(edge.weight)],
    ['distance', decimal(edge.distance)], ['round trip', duration(edge.rtt_s)],
    ['to it', `${rate(edge.send_bytes_per_s)}, ${bytes(edge.sent_bytes)} in all`],
    ['from it', `${rate(edge.receive_bytes_per_s)}, ${bytes(edge.received_bytes)} in all`],
    edge.encoding && ['vectors to it', edge.encoding],
    edge.codec_quality < 1 && ['codec quality', decimal(edge.codec_quality)],
    ['waited for', `up to ${duration(edge.patience_s)} a round`],
    ...Object.entries(edge.rejected).map(([reason, count]) => ['refused', `${integer(count)} times: ${reason}`]),
  ];
}

// [name, value] of each.
function facts({ member, edge, behind, isSelf }, status) {
  const rows = isSelf && status ? ownFacts(status, member)
    : [...(member ? memberFacts(member, behind) : []), ...(edge ? edgeFacts(edge) : [])];
  return rows.filter((row) => row);
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

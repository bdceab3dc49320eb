// The nodes as all panels see them: one object a node, made of members, topology and neighbours.

const kFading_s = 600;  // a dead node is shown for ten minutes

const isGone = (member) => member.state === 'dead' || member.state === 'left';

// What a node does as far as this node has heard: its phase, and that it is silent or gone.
export function standing({ state, phase, role }) {
  if (state === 'alive') return (phase === 'training' ? role : undefined) ?? phase ?? state;
  return state === 'suspect' && phase === 'paused' ? 'suspect, paused' : state;
}

export const isPaused = (node) => node.fading === undefined && node.member?.phase === 'paused';

// Between 1, just gone, and 0: not shown any more. Undefined for one that is there.
export const fading = (member) =>
  (member && isGone(member) ? Math.max(0, 1 - member.last_heard_s / kFading_s) : undefined);

export const addressOf = (member) => (member.hidden ? 'cannot be dialled' : member.control);

// Where the node's page is; null where it says no address that could be one.
export function pageOf(member) {
  const address = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):([0-9]+)$/;
  const http = address.exec(member?.http ?? '');
  if (!http || http[2] === '0') return null;
  const isAny = http[1] === '0.0.0.0' || http[1] === '[::]';
  const host = isAny ? address.exec(member.control ?? '')?.[1] : http[1];
  return host ? `http://${host}:${http[2]}/` : null;
}

const collator = new Intl.Collator('en', { numeric: true });
export const byName = (a, b) => collator.compare(a.name, b.name);

// Members that died in the last ten minutes, and those that do not answer.
export function lost(members) {
  const all = members?.members ?? [];
  return { dead: all.filter((member) => member.state === 'dead' && fading(member) > 0).length,
           silent: all.filter((member) => member.state === 'suspect').length };
}

// [{name, member, edge, isSelf, isHidden, round, behind, fading}], in the natural order of their
// names. How far a node is behind this one is known of neighbours alone: what is told of others is
// older than what this node knows of itself. For one that is paused nobody waits.
export function fleetNodes({ status, members, neighbors, topology }) {
  const known = new Map();
  for (const { name } of topology?.nodes ?? []) known.set(name, { name });
  for (const member of members?.members ?? [])
    known.set(member.name, { ...known.get(member.name), name: member.name, member });
  for (const edge of neighbors?.neighbors ?? [])
    if (known.has(edge.name)) known.get(edge.name).edge = edge;
  const nodes = [...known.values()].sort(byName);
  for (const node of nodes) {
    node.isSelf = node.name === status?.node.name;
    node.isHidden = node.member?.hidden === true;
    node.fading = fading(node.member);
    node.round = node.member?.round;
  }
  for (const node of nodes)
    if (node.fading === undefined && !isPaused(node)) node.behind = node.isSelf ? 0 : node.member?.behind;
  return nodes;
}

// The sentence on top: how it goes, in words. What is wrong comes first.
import { byId, setHidden, setItems, setText } from './dom.js';
import { lost } from './fleet_nodes.js';
import { decimal, duration, integer, percent, rate } from './format.js';

const kDoing = {
  starting: 'starts', joining: 'joins the others', training: 'trains', degraded: 'trains, and not as it should',
  paused: 'is paused', leaving: 'is leaving', finished: 'has finished',
};

// The values of the keys stop.*, of which zero and nothing mean that there is no such goal.
const kGoals = {
  'stop.accuracy': (value) => `accuracy ${percent(value)}`,
  'stop.loss': (value) => `loss ${decimal(value)}`,
  'stop.rounds': (value) => `${integer(value)} rounds`,
  'stop.seconds': (value) => duration(value),
};

export function goal(config) {
  const goals = Object.entries(kGoals)
    .map(([key, text]) => [Number(config?.[key]?.value), text])
    .filter(([value]) => value > 0)
    .map(([value, text]) => text(value));
  return goals.join(' or ');
}

function progress(run) {
  const parts = [];
  if (run.eval?.accuracy !== undefined) parts.push(`accuracy ${percent(run.eval.accuracy)}`);
  if (run.eval?.rmse !== undefined) parts.push(`held-out error ${decimal(run.eval.rmse)}`);
  if (run.loss !== undefined) parts.push(`loss ${decimal(run.loss)}`);
  if (run.round > 0) parts.push(`round ${integer(run.round)}`);
  return parts.join(', ');
}

export function statusSentence({ node, run }, config) {
  const doing = `${node.name} ${kDoing[node.state] ?? node.state}`;
  const wanted = goal(config);
  return [doing, progress(run)].filter((part) => part).join(': ') +
         (wanted ? `; it ends at ${wanted}` : '') + '.';
}

// What the fleet does in numbers; empty where it is not known.
function fleetNumbers(fleet, config) {
  const counts = ['training', 'paused', 'degraded', 'finished'].filter((state) => fleet[state] > 0)
    .map((state) => `${integer(fleet[state])} ${state}`);
  const parts = [counts.join(', ')];
  if (fleet.samples_per_s) parts.push(`${integer(fleet.samples_per_s.total)} samples/s`);
  if (fleet.bytes_per_s) parts.push(rate(fleet.bytes_per_s.total));
  if (fleet.computing) parts.push(`computing ${percent(fleet.computing.mean)} of the time`);
  if (goal(config)) parts.push(`this node ends at ${goal(config)}`);
  return parts.filter((part) => part).join(' · ');
}

function showFleet(fleet, config) {
  const numbers = fleet ? fleetNumbers(fleet, config) : '';
  setText(byId('fleet'), numbers);
  setHidden(byId('fleet'), numbers === '');
}

// A sentence begins with a capital letter, and a name as it is.
const capitalised = (text, names) =>
  (names.some((name) => text.startsWith(name)) ? text : text.charAt(0).toUpperCase() + text.slice(1));

// What is worth an interruption: without numbers, which are others every second.
const gist = (text) => text.split(', loss ')[0].replace(/ [0-9.]+ (ms|s|min|h)\b( ago)?/g, '');

// Those of a screen reader hear what changed, and not the whole sentence every second.
function speak(sentence) {
  setText(byId('spoken'), gist(sentence));
}

// "1 died · node-0: training".
function titleOf({ status, members }) {
  const { dead, silent } = lost(members);
  const parts = [dead > 0 ? `${dead} died` : '', silent > 0 ? `${silent} silent` : '',
                 `${status.node.name}: ${status.node.state}`];
  return parts.filter((part) => part).join(' · ');
}

// The fleet's sentence, which begins with what is wrong, stands in the place of this node's own
// where there is one.
export function showSentence({ status, members, fleet, config }) {
  if (!status) return;
  const own = statusSentence(status, config);
  const reasons = status.node.reasons;
  const summary = fleet?.summary || (reasons.length > 0 ? `${reasons[0]}. ${own}` : own);
  const names = (members?.members ?? [status.node]).map(({ name }) => name);
  setText(byId('sentence'), capitalised(summary, names));
  setItems(byId('reasons'), reasons.filter((reason) => !summary.includes(reason))
    .map((reason) => capitalised(reason, names)));
  speak(summary);
  showFleet(fleet, config);
  setText(byId('who'), status.node.name);
  setText(byId('state'), status.node.state);
  byId('state').className = `chip is-${status.node.state}`;
  setHidden(byId('state'), false);
  setText(byId('version'), `Starling ${status.node.version}, up for ${duration(status.node.uptime_s)}`);
  const title = titleOf({ status, members });
  if (document.title !== title) document.title = title;
}

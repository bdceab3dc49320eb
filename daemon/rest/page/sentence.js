// The sentence on top: how it goes, in words. What is wrong comes first.
import { byId, setItems, setText, showText } from './dom.js';
import { lost } from './fleet_nodes.js';
import { decimal, duration, integer, percent, rate } from './format.js';

const kDoing = {
  starting: 'starts', joining: 'joins the others', training: 'trains', degraded: 'trains, and not as it should',
  paused: 'is paused', leaving: 'is leaving', ending: 'ends', settling: 'ends', sealing: 'ends',
  finished: 'has finished',
};

const joined = (parts, separator) => parts.filter((part) => part).join(separator);

const progress = (run) => joined([
  run.eval?.accuracy !== undefined && `accuracy ${percent(run.eval.accuracy)}`,
  run.eval?.rmse !== undefined && `error ${decimal(run.eval.rmse)}`,
  run.loss !== undefined && `loss ${decimal(run.loss)}`,
  run.round > 0 && `round ${integer(run.round)}`], ', ');

function statusSentence({ node, run }) {
  const doing = `${node.name} ${run.problem ? 'takes no step' : kDoing[node.state] ?? node.state}`;
  return `${joined([joined([doing, progress(run)], ': '), run.progress], '; ')}.`;
}

// What the fleet does in numbers; empty where it is not known.
function fleetNumbers(fleet, run) {
  if (!fleet) return '';
  const counts = ['training', 'paused', 'degraded', 'ending', 'finished'].filter((state) => fleet[state] > 0)
    .map((state) => `${integer(fleet[state])} ${state}`);
  return joined([
    counts.join(', '),
    fleet.samples_per_s && `${integer(fleet.samples_per_s.total)} samples/s`,
    fleet.bytes_per_s && `${rate(fleet.bytes_per_s.total)} in all`,
    fleet.computing && `computing ${percent(fleet.computing.mean)} of the time`,
    run.progress, run.end?.model && `one model, ${run.end.model}`], ' · ');
}

// A sentence begins with a capital letter, and a name as it is.
const capitalised = (text, names) =>
  (names.some((name) => text.startsWith(name)) ? text : text.charAt(0).toUpperCase() + text.slice(1));

// What is worth an interruption of a screen reader: without numbers, which are others every second.
const gist = (text) => text.split(', loss ')[0].replace(/ [0-9.]+ (ms|s|min|h)\b( ago)?/g, '');

// "1 died · node-0: training".
function titleOf({ status, members }) {
  const { dead, silent } = lost(members);
  return joined([dead > 0 && `${dead} died`, silent > 0 && `${silent} silent`,
                 `${status.node.name}: ${status.node.state}`], ' · ');
}

// The fleet's sentence, which begins with what is wrong, stands in the place of this node's own
// where there is one.
export function showSentence({ status, members, fleet }) {
  if (!status) return;
  const own = statusSentence(status);
  const reasons = status.node.reasons;
  const summary = fleet?.summary || (reasons.length > 0 ? `${reasons[0]}. ${own}` : own);
  const names = (members?.members ?? [status.node]).map(({ name }) => name);
  setText(byId('sentence'), capitalised(summary, names));
  setItems(byId('reasons'), reasons.filter((reason) => !summary.includes(reason))
    .map((reason) => capitalised(reason, names)));
  setText(byId('spoken'), gist(summary));
  showText(byId('fleet'), fleetNumbers(fleet, status.run));
  setText(byId('who'), status.node.name);
  showText(byId('state'), status.node.state);
  byId('state').className = `chip is-${status.node.state}`;
  setText(byId('version'), `Starling ${status.node.version}, up for ${duration(status.node.uptime_s)}`);
  const title = titleOf({ status, members });
  if (document.title !== title) document.title = title;
}

// The page of a node: asks the node again and again, and lets every panel show what it said.
import { changesOf } from './changes.js';
import { Charts } from './charts.js';
import { Contact } from './contact.js';
import { addCurlButtons } from './curl.js';
import { Events } from './events.js';
import { fleetNodes } from './fleet_nodes.js';
import { Graph } from './graph.js';
import { Members } from './members.js';
import { poll } from './poll.js';
import { showSentence } from './sentence.js';
import { Series } from './series.js';
import { listenForTheme } from './theme_button.js';
import { TimeSplit } from './time_split.js';

// The documents that were heard last, null where there is none.
const state = { status: null, members: null, neighbors: null, topology: null, fleet: null,
                config: null, events: [] };
const series = new Series();
const fleet = new Series();  // what the node knew of all nodes
const events = new Events();
const contact = new Contact();
const charts = new Charts(series, fleet);
const graph = new Graph();
const members = new Members();
const timeSplit = new TimeSplit();

function showNodes() {
  const nodes = fleetNodes(state);
  graph.update(state, nodes);
  members.update(nodes);
}

// A node that was started anew counts its rounds and events from one.
function forgetEarlierLife(status) {
  const isSame = !state.status || state.status.node.incarnation === status.node.incarnation;
  if (isSame) return;
  series.clear();
  fleet.clear();
  events.clear();
}

function hearStatus(status) {
  if (!status) return;
  forgetEarlierLife(status);
  state.status = status;
  showSentence(state);
  timeSplit.update(status);
}

function hearFleet(said) {
  state.fleet = said;
  showSentence(state);
}

function hearSeries(said) {
  if (!said || !series.add(said.series)) return;
  fleet.add(said.fleet ?? []);
  charts.show();
}

// Keeps a document that the nodes are made of.
const keep = (name) => (document) => {
  state[name] = document;
  showNodes();
};

// What is new; `since=0` would leave out round 0.
const seriesPath = () =>
  (series.lastRound < 0 ? 'v1/convergence' : `v1/convergence?since=${series.lastRound}`);

const kPolls = [
  { path: () => 'v1/status', period_ms: 1000, heard: hearStatus,
    contact: (problem) => contact.note(problem) },
  { path: seriesPath, period_ms: 1000, heard: hearSeries },
  { path: () => 'v1/members', period_ms: 2000, heard: keep('members') },
  { path: () => 'v1/neighbors', period_ms: 2000, heard: keep('neighbors') },
  { path: () => 'v1/topology', period_ms: 5000, heard: keep('topology') },
  { path: () => `v1/events?follow=0&since=${events.last}`, period_ms: 2000,
    heard: (said) => {
      events.add(said?.events ?? []);
      state.events = events.events;
    } },
  { path: () => 'v1/fleet', period_ms: 2000, heard: hearFleet },
  { path: () => 'v1/settings', period_ms: 5000, heard: (said) => charts.mark(changesOf(said)) },
  { path: () => 'v1/config', period_ms: 60000, heard: (said) => { state.config = said; } },
];

listenForTheme(() => {
  charts.show();
  graph.draw();
});
addCurlButtons();
for (const one of kPolls) poll(one);

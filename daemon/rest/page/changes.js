// The changes of settings that all nodes have made, as /v1/settings tells them.
import { byId, showText, themed } from './dom.js';
import { integer } from './format.js';

// The last of each key, by round: {round, text}.
export function changesOf(settings) {
  return Object.entries(settings ?? {}).filter(([, setting]) => setting.by && setting.since_round > 0)
    .map(([key, { value, since_round, by }]) => ({
      round: since_round, text: `from round ${integer(since_round)} on ${key} = ${value} (set at ${by})` }))
    .sort((a, b) => a.round - b.round);
}

export function showChanges(changes) {
  showText(byId('changes'), changes.map(({ text }) => text).join('; '));
}

// A line across the plot where each change began. `places` are the abscissas of the points.
export function drawChanges(plot, changes, points, places) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = themed('--quiet');
  ctx.setLineDash([2, 4]);
  for (const { round } of changes) {
    const at = points.findIndex((point) => point.round >= round);
    const x = at < 0 ? -1 : plot.valToPos(places[at], 'x', true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

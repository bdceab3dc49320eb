// Colours of the nodes: what is measured, and the place of each value on a scale that colour-blind
// eyes tell apart as well (viridis), from dark for low to light for high.
import { decimal, integer } from './format.js';

const kViridis = [[68, 1, 84], [70, 50, 126], [54, 92, 141], [39, 127, 142], [31, 161, 135],
                  [74, 193, 109], [160, 218, 57], [253, 231, 37]];
const kLogarithmicFrom = 20;  // times the smallest value

// `of` gives a node's value, or undefined where it is not known. `least` is how far the ends of the
// scale are apart at least, so that noise does not look like a difference.
export const kMeasures = {
  loss: {
    of: (node) => node.member?.loss, format: decimal, least: (high) => 0.1 * high,
    help: 'Each node’s latest loss as this node has heard it: a node that stays apart from the ' +
          'others has other data, or diverges.',
  },
  distance: {
    of: (node) => (node.isSelf ? 0 : node.edge?.distance), format: decimal, least: () => 0,
    help: 'How far the model of each neighbour is from this node’s; of nodes that are not its ' +
          'neighbours it knows none.',
  },
  lateness: {
    of: (node) => node.behind, format: integer, least: () => 5,
    help: 'Rounds from each neighbour’s newest vector to this node’s round: one that stays far ' +
          'behind is slow, stopped or cut off. Of nodes that are not its neighbours it knows none.',
  },
};

export function viridis(share) {
  const place = Math.min(Math.max(share, 0), 1) * (kViridis.length - 1);
  const below = Math.min(Math.floor(place), kViridis.length - 2);
  const part = place - below;
  const mix = kViridis[below].map((low, k) => Math.round(low + part * (kViridis[below + 1][k] - low)));
  return `rgb(${mix.join(',')})`;
}

// {low, high, place}: `place` gives the share of the scale below a value. Null without values.
export function scale(values, least) {
  const known = values.filter(Number.isFinite);
  if (known.length === 0) return null;
  const low = Math.min(...known);
  const high = Math.max(...known, low + least(Math.max(...known)));
  if (low > 0 && high > kLogarithmicFrom * low) {
    const decades = Math.log(high / low);
    return { low, high, place: (value) => Math.log(Math.max(value, low) / low) / decades };
  }
  return { low, high, place: (value) => (high > low ? (value - low) / (high - low) : 0) };
}

// The charts of this node's training, with the fleet's band behind each curve. Their cursors and
// their abscissas move together.
import { drawChanges, showChanges } from './changes.js';
import { aboveZero, edge, interpolated, shown, smoothed } from './curves.js';
import { byId, element, setText, showText, themed } from './dom.js';
import { fleetValues } from './fleet_series.js';
import { bytes, decimal, duration, integer, percent, rate } from './format.js';

const kHeight = 200;
const kAxisWidth = 76;
const kAbscissas = { round: integer, time_s: duration, bytes };

// Between two marks of a clock's axis.
const kSeconds = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200,
                  4 * 3600, 8 * 3600, 86400, 2 * 86400];

const kMeanHelp = 'The dashed line is the mean over all nodes, as this node knew it at that time: of ' +
  'bytes a second what one node sends in the mean, while the text on top has the sum.';
const kBandHelp = 'From the smallest value of a node to the largest: where the band is narrow, the ' +
  'nodes agree. It ends earlier than the mean, for news of the two take some seconds.';

// What a chart draws: `own` are curves of this node's points; `fleet` gives the object of
// /v1/fleet with the same meaning.
const kCharts = [
  { key: 'loss', title: 'Loss', format: decimal, fleet: (said) => said.loss,
    own: [{ name: 'loss', label: 'this node', help:
      'Mean loss of this node’s latest batch, before its step: it should fall and then level off; ' +
      'a rise over many rounds means that the learning rate is too large.' }] },
  { key: 'accuracy', title: 'Accuracy', format: percent, fleet: (said) => said.accuracy,
    own: [{ name: 'accuracy', label: 'this node', help:
      'Share of the held-out samples that this node’s model gets right: it should rise and then ' +
      'level off.' }] },
  { key: 'rmse', title: 'Held-out error', format: decimal, fleet: () => null,
    own: [{ name: 'rmse', label: 'this node', help:
      'Root mean square error on held-out samples, in units of the target: it should fall and ' +
      'then level off.' }] },
  { key: 'distance', title: 'Consensus distance', format: decimal, isLogarithmic: true,
    fleet: (said) => said.consensus_distance, fleetLabel: 'all nodes',
    own: [{ name: 'distance', label: 'this node to the mean', help:
      'How far this node’s model is from the mean of all models, relative to that mean: small and ' +
      'level is healthy; if it grows the nodes drift apart, and a falling loss deceives.' },
    { name: 'distance_to_optimum', label: 'this node to the optimum', help:
      'How far this node’s model is from the best model, which is known for this problem: an exact ' +
      'algorithm lets it fall to rounding, plain averaging stops at a distance.' }] },
  { key: 'bytes_per_s', title: 'Traffic', format: rate, fleet: (said) => said.bytes_per_s,
    own: [{ name: 'bytes_per_s', label: 'sent by this node', help:
      'Bytes of models that this node sends a second: a dip means that rounds took longer, for ' +
      'instance because it waited for a neighbour.' }] },
];

// The curve of a quantity of which there is one number for the whole fleet, else its mean.
const middle = (object) => object?.mean ?? object?.value;

class Chart {
  constructor(root, spec, owner) {
    this.spec = spec;
    this.owner = owner;
    this.help = element('p', { class: 'help', hidden: '' });
    this.legend = element('div', { class: 'curves' });
    this.plotted = element('div', { class: 'plot' });
    this.root = element('section', { class: 'chart', 'aria-label': spec.title },
      element('h3', {}, spec.title), this.plotted, this.legend, this.help);
    root.append(this.root);
    this.plot = null;
    this.shape = '';
  }

  // The curves that have values: {label, help, style, values}.
  curves(points, settings) {
    const { spec } = this;
    const isLogarithmic = this.isLogarithmic(settings);
    const found = [];
    for (const [k, { name, label, help }] of spec.own.entries()) {
      const values = points.map((point) => point[name]);
      if (settings.smoothing > 0 && k === 0) found.push({ style: 'raw', values });
      found.push({ label: settings.smoothing > 0 ? `${label}, smoothed` : label, help,
                   style: k === 0 ? 'own' : 'other',
                   values: smoothed(values, settings.smoothing, isLogarithmic) });
    }
    const times = points.map(({ time_s }) => time_s);
    const fleet = (pick, areExtremes) =>
      fleetValues(this.owner.fleet.points, (said) => pick(spec.fleet(said)), areExtremes);
    const mean = fleet(middle, false);
    found.push({ label: spec.fleetLabel ?? 'mean of all nodes', help: kMeanHelp, style: 'mean',
                 values: interpolated(mean, times) });
    for (const style of ['min', 'max'])
      found.push({ label: style === 'max' ? 'smallest to largest' : '', help: kBandHelp, style,
                   values: edge(fleet((object) => object?.[style], true), mean, times,
                                isLogarithmic) });
    const known = found.filter(({ values }) => values.some((value) => value !== null));
    return isLogarithmic
      ? known.map((curve) => ({ ...curve, values: aboveZero(curve.values) })) : known;
  }

  isLogarithmic(settings) {
    return this.spec.isLogarithmic || (this.spec.key === 'loss' && settings.logLoss);
  }

  show(points, places, settings) {
    this.drawn = this.curves(points, settings);
    const isEmpty = !this.drawn.some(({ style }) => style === 'own' || style === 'other');
    this.root.hidden = isEmpty;
    if (isEmpty) return;
    const shape = JSON.stringify([this.drawn.map(({ style }) => style), settings.abscissa,
                                  this.isLogarithmic(settings), settings.theme]);
    [this.points, this.places] = [points, places];
    if (shape !== this.shape) this.make(settings);
    this.shape = shape;
    this.plot.setData([places, ...this.drawn.map(({ values }) => values)], false);
    this.plot.setScale('x', settings.zoom ?? { min: places[0], max: places.at(-1) });
    this.showValues();
  }

  make(settings) {
    this.plot?.destroy();
    this.plot = new uPlot(this.options(settings), [[]], this.plotted);
    const canvas = this.plotted.querySelector('canvas');
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label', `Chart: ${this.spec.title}. The newest values stand below.`);
    this.legend.replaceChildren();
    this.values = this.drawn.map((curve) => this.entry(curve));
  }

  // A button of the legend, which explains its curve; gives the place of the curve's value.
  entry({ label, help, style }) {
    if (!label) return null;
    const value = element('span', { class: 'value' });
    const button = element('button', { type: 'button', class: 'curve', title: help,
                                       'aria-expanded': 'false' },
      element('span', { class: `swatch ${style}` }), `${label} `, value,
      element('span', { class: 'what', 'aria-hidden': 'true' }, '?'));
    button.addEventListener('click', () => this.explain(button, help));
    this.legend.append(button);
    return value;
  }

  explain(button, help) {
    const opens = button.getAttribute('aria-expanded') !== 'true';
    for (const other of this.legend.children) other.setAttribute('aria-expanded', 'false');
    button.setAttribute('aria-expanded', String(opens));
    showText(this.help, opens ? help : '');
  }

  // At the cursor, else the newest; of a curve with gaps the last value before.
  showValues() {
    const at = this.plot.cursor.idx;
    this.drawn.forEach(({ values }, k) => {
      if (!this.values[k]) return;
      let place = at ?? values.length - 1;
      while (place > 0 && values[place] === null) --place;
      const text = this.spec.format(values[place]);
      const isBand = this.drawn[k].style === 'max' && this.drawn[k - 1]?.style === 'min';
      setText(this.values[k],
              isBand ? `${this.spec.format(this.drawn[k - 1].values[place])} – ${text}` : text);
    });
  }

  width() {
    return Math.max(200, this.plotted.clientWidth);
  }

  resize() {
    this.plot?.setSize({ width: this.width(), height: kHeight });
  }

  axis(format, more) {
    return { stroke: themed('--quiet'), font: '12px system-ui, sans-serif',
             grid: { stroke: themed('--grid'), width: 1 }, ticks: { stroke: themed('--grid') },
             values: (_, values) => values.map((value) => (value === null ? '' : format(value))),
             ...more };
  }

  options(settings) {
    const styles = this.drawn.map(({ style }) => style);
    const max = styles.indexOf('max') + 1;
    const min = styles.indexOf('min') + 1;
    const isLogarithmic = this.isLogarithmic(settings);
    return {
      width: this.width(), height: kHeight, legend: { show: false },
      scales: { x: { time: false }, y: isLogarithmic ? { distr: 3, range: logarithmicRange } : {} },
      axes: [this.axis(kAbscissas[settings.abscissa], { space: 60, size: 34,
        ...(settings.abscissa === 'time_s' ? { incrs: kSeconds, space: 75 } : {}) }),
             this.axis(isLogarithmic ? power(this.spec.format) : this.spec.format, { size: kAxisWidth, space: 34,
                                           ...(isLogarithmic ? { splits: decades, filter: (_, all) => all } : {}) })],
      padding: [14, 26, 0, 0],
      series: [{}, ...styles.map(lineStyle)],
      bands: max > 0 && min > 0 ? [{ series: [max, min], fill: themed('--band') }] : [],
      cursor: { sync: { key: 'curves', scales: ['x', null] }, y: false,
                drag: { x: true, y: false, setScale: false },
                bind: { dblclick: () => () => this.owner.zoom(null) } },
      hooks: { setCursor: [() => this.showValues()], setSelect: [(plot) => this.select(plot)],
               draw: [(plot) => drawChanges(plot, this.owner.changes, this.points, this.places)] },
    };
  }

  select(plot) {
    const { left, width } = plot.select;
    if (width < 4) return;
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.owner.zoom({ min: plot.posToVal(left, 'x'), max: plot.posToVal(left + width, 'x') });
  }
}

// As much room above and below the curves as on a linear axis, not up to a power of ten.
function logarithmicRange(_, min, max) {
  if (!(min > 0)) return [0.1, 1];
  const margin = Math.max((max / min) ** 0.06, 1.05);
  return [min / margin, max * margin];
}

const kFactors = [[1], [1, 3], [1, 2, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9]];
const kMarksLeast = 3;

// Of a logarithmic axis: powers of ten, with more between them where there are few; equal steps of
// one digit where even those are few.
export function marks(min, max) {
  const first = Math.floor(Math.log10(min));
  const count = Math.ceil(Math.log10(max)) - first;
  const step = Math.ceil(count / 6);
  for (const factors of kFactors) {
    const found = [];
    for (let k = 0; k <= count; k += step)
      found.push(...factors.map((factor) => Number(`${factor}e${first + k}`)));
    const within = found.filter((value) => value >= 0.999 * min && value <= 1.001 * max);
    if (within.length >= kMarksLeast) return within;
  }
  return evenMarks(min, max);
}

function evenMarks(min, max) {
  const digit = Math.floor(Math.log10((max - min) / kMarksLeast));
  const step = [1, 2, 5].findLast((factor) => factor * 10 ** digit * kMarksLeast <= max - min) * 10 ** digit;
  const found = [];
  for (let k = Math.ceil(min / step); k * step <= max; ++k)
    found.push(Number((k * step).toPrecision(12)));
  return found;
}

// Of marks side by side: 1e-3 beside 5e-4.
const power = (format) => (value) =>
  (value < 0.01 ? Number(value.toPrecision(3)).toExponential() : format(value));

const decades = (plot) => marks(plot.scales.y.min, plot.scales.y.max);

function lineStyle(style) {
  const lines = {
    raw: { stroke: themed('--own-faint'), width: 1 },
    own: { stroke: themed('--own'), width: 2 },
    other: { stroke: themed('--other'), width: 2 },
    mean: { stroke: themed('--fleet'), width: 2, dash: [6, 4] },
  };
  const edgeOfBand = { stroke: 'transparent', width: 0 };
  return { spanGaps: true, points: { show: false }, ...(lines[style] ?? edgeOfBand) };
}

export class Charts {
  constructor(series, fleet) {
    this.series = series;
    this.fleet = fleet;
    this.changes = [];  // of settings; see changes.js
    this.charts = kCharts.map((spec) => new Chart(byId('charts'), spec, this));
    this.settings = { abscissa: 'round', smoothing: 0.6, logLoss: true, zoom: null };
    this.listen();
    new ResizeObserver(() => this.charts.forEach((chart) => chart.resize())).observe(byId('charts'));
  }

  listen() {
    byId('smoothing').value = this.settings.smoothing;
    byId('log-loss').checked = this.settings.logLoss;
    const on = (id, event, change) => byId(id).addEventListener(event, () => {
      change(byId(id));
      this.show();
    });
    on('smoothing', 'input', (input) => { this.settings.smoothing = Number(input.value); });
    on('log-loss', 'change', (input) => { this.settings.logLoss = input.checked; });
    on('abscissa', 'change', (input) => {
      this.settings.abscissa = input.value;
      this.settings.zoom = null;
    });
    byId('zoom-out').addEventListener('click', () => this.zoom(null));
  }

  mark(changes) {
    this.changes = changes;
    showChanges(changes);
    this.show();
  }

  // Of the abscissa of all charts; null shows all.
  zoom(range) {
    this.settings.zoom = range;
    this.show();
  }

  show() {
    const points = shown(this.series.points);
    byId('no-curves').hidden = points.length > 0;
    byId('zoom-out').hidden = this.settings.zoom === null;
    byId('charts').hidden = points.length === 0;
    if (points.length === 0) return;
    const places = points.map((point) => point[this.settings.abscissa]);
    const settings = { ...this.settings, theme: themed('--page') };
    for (const chart of this.charts) chart.show(points, places, settings);
  }
}

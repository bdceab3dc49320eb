// The graph of nodes on a canvas: who averages with whom, in what state each is, and one node to
// know more of.
import { showDetails } from './details.js';
import { byId, element, setText, themed } from './dom.js';
import { isPaused, standing } from './fleet_nodes.js';
import { decimal } from './format.js';
import { Layout } from './layout.js';
import { kMeasures, scale, viridis } from './scales.js';
import { View } from './view.js';

const kNamesLimit = 150;     // nodes that are shown with their names
const kWholeNames = 20;      // more are shown without what all names begin with
const kReach = 16;           // pixels around a node that are the node
const kZoom = 1.4;
const kEdgeWidths = [2, 8];  // of edges of this node, by bytes a second

// How many characters all names begin with, without digits at their end.
function commonPrefix(names) {
  const first = names[0] ?? '';
  let length = first.length;
  for (const name of names)
    while (!name.startsWith(first.slice(0, length))) --length;
  return first.slice(0, length).replace(/[0-9]+$/, '').length;
}

export class Graph {
  constructor() {
    this.canvas = byId('stage');
    this.layout = new Layout();
    this.view = new View();
    this.nodes = new Map();  // by name
    this.selected = null;
    this.hovered = null;
    this.lastEdges = [];
    this.frame = 0;
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.canvas.parentElement);
  }

  listen() {
    byId('measure').addEventListener('change', () => this.color());
    byId('closer').addEventListener('click', () => this.zoom(kZoom));
    byId('farther').addEventListener('click', () => this.zoom(1 / kZoom));
    byId('fit').addEventListener('click', () => {
      this.view.fits = true;
      this.draw();
    });
    this.canvas.addEventListener('pointerdown', (event) => this.press(event));
    this.canvas.addEventListener('pointermove', (event) => this.move(event));
    this.canvas.addEventListener('pointerup', (event) => this.release(event));
    this.canvas.addEventListener('pointerleave', () => this.hover(null));
    this.canvas.addEventListener('keydown', (event) => this.key(event));
    this.canvas.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
  }

  update(state, nodes) {
    this.state = state;
    const shown = nodes.filter((node) => node.fading === undefined || node.fading > 0);
    this.nodes = new Map(shown.map((node) => [node.name, node]));
    this.layout.update(shown.map(({ name }) => name), this.edges(state.topology?.edges ?? []));
    this.isDirected = state.topology?.directed === true;
    this.color();
    showDetails(this.nodes.get(this.selected) ?? this.self(), state);
  }

  // Those of the topology, and the last ones of nodes that are gone, which hold them in place.
  edges(current) {
    const key = ({ from, to }) => `${from}\n${to}`;
    const isGone = (name) => this.nodes.get(name)?.fading !== undefined;
    const there = new Set(current.map(key));
    const old = this.lastEdges.filter((edge) => !there.has(key(edge)) &&
      (isGone(edge.from) || isGone(edge.to)) && this.nodes.has(edge.from) && this.nodes.has(edge.to));
    this.lastEdges = [...current, ...old];
    return this.lastEdges;
  }

  self() {
    return [...this.nodes.values()].find((node) => node.isSelf);
  }

  // Colours by the measure that is chosen.
  color() {
    const measure = kMeasures[byId('measure').value];
    const values = [...this.nodes.values()].filter(({ fading }) => fading === undefined).map(measure.of);
    this.scale = scale(values, measure.least);
    this.showLegend(measure);
    this.draw();
  }

  fill(node) {
    const value = kMeasures[byId('measure').value].of(node);
    return this.scale && Number.isFinite(value) ? viridis(this.scale.place(value)) : null;
  }

  showLegend(measure) {
    setText(byId('measure-help'), measure.help);
    const part = (kind, text) => element('span', { class: 'key' },
      element('span', { class: `mark is-${kind}` }), text);
    const ramp = this.scale
      ? [element('span', { class: 'key' }, measure.format(this.scale.low),
                 element('span', { class: 'ramp' }), measure.format(this.scale.high))] : [];
    byId('legend').replaceChildren(...ramp, part('unknown', 'not known'), part('self', 'this node'),
      part('suspect', 'does not answer'), part('hidden', 'cannot be dialled'),
      part('detour', 'stands for an edge of two that cannot be dialled'), part('paused', 'paused'), part('dead', 'dead or left, fades for ten minutes'),
      part('edge', 'wider: more bytes a second'));
  }

  // ---- drawing

  draw() {
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.step());
  }

  step() {
    this.frame = 0;
    const { width, height } = this.size;
    const isReady = this.layout.advance() || !this.layout.isMoving;
    if (isReady && width > 0) {
      const eases = this.view.follow(this.layout.nodes, width, height, this.layout.still.matches);
      this.paint();
      if (!eases && !this.layout.isMoving) return;
    }
    this.draw();
  }

  get size() {
    return { width: this.canvas.clientWidth, height: this.canvas.clientHeight };
  }

  resize() {
    const { width, height } = this.size;
    const ratio = devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.view.isPlaced = false;
    this.draw();
  }

  // Of a node, in pixels.
  radius() {
    const room = Math.min(1, Math.min(this.size.width, this.size.height) / 480);
    return Math.min(Math.max(75 * room / Math.sqrt(this.nodes.size || 1), 3.5), 15);
  }

  paint() {
    const context = this.canvas.getContext('2d');
    const ratio = devicePixelRatio || 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.colors = { ink: themed('--ink'), page: themed('--panel'), edge: themed('--edge'),
                    quiet: themed('--quiet'), own: themed('--own') };
    this.paintEdges(context);
    for (const place of this.layout.nodes) {
      const node = this.nodes.get(place.name);
      if (node) this.paintNode(context, node, this.view.toScreen(place));
    }
    if (this.nodes.size <= kNamesLimit || this.view.scale > 1.5) this.paintNames(context);
  }

  paintEdges(context) {
    context.lineWidth = this.nodes.size > 200 ? 0.7 : 1.5;
    context.strokeStyle = this.colors.edge;
    const isThere = ({ name }) => this.nodes.get(name)?.fading === undefined;
    const isOpen = ({ source, target }) => isThere(source) && isThere(target);
    this.lines(context, this.layout.links.filter((link) => isOpen(link) && !link.detour));
    context.setLineDash([10, 4]);
    this.lines(context, this.layout.links.filter((link) => isOpen(link) && link.detour));
    context.setLineDash([2, 5]);
    this.lines(context, this.layout.links.filter((link) => !isOpen(link)));
    context.setLineDash([]);
    for (const link of this.layout.links) this.paintOwnEdge(context, link);
  }

  lines(context, links) {
    context.beginPath();
    for (const { source, target } of links) {
      this.line(context, source, target);
      if (this.isDirected && this.nodes.size <= kNamesLimit) this.arrow(context, source, target);
    }
    context.stroke();
  }

  line(context, source, target) {
    context.moveTo(...this.view.toScreen(source));
    context.lineTo(...this.view.toScreen(target));
  }

  arrow(context, source, target) {
    const [x0, y0] = this.view.toScreen(source);
    const [x1, y1] = this.view.toScreen(target);
    const angle = Math.atan2(y1 - y0, x1 - x0);
    const tip = [x1 - this.radius() * Math.cos(angle), y1 - this.radius() * Math.sin(angle)];
    for (const turn of [-0.4, 0.4]) {
      context.moveTo(...tip);
      context.lineTo(tip[0] - 8 * Math.cos(angle + turn), tip[1] - 8 * Math.sin(angle + turn));
    }
  }

  // Only of its own edges does a node know how many bytes pass.
  paintOwnEdge(context, { source, target }) {
    const ends = [this.nodes.get(source.name), this.nodes.get(target.name)];
    if (!ends.some((end) => end?.isSelf)) return;
    const edge = ends.find((end) => end && !end.isSelf)?.edge;
    if (!edge) return;
    const flow = Math.max(edge.send_bytes_per_s ?? 0, edge.receive_bytes_per_s ?? 0);
    const share = Math.min(Math.max((Math.log10(flow + 1) - 3) / 6, 0), 1);
    context.strokeStyle = this.colors.own;
    context.globalAlpha = 0.55;
    context.lineWidth = kEdgeWidths[0] + share * (kEdgeWidths[1] - kEdgeWidths[0]);
    context.setLineDash(edge.state === 'active' ? [] : [6, 5]);
    context.beginPath();
    this.line(context, source, target);
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  paintNode(context, node, [x, y]) {
    const radius = this.radius();
    const circle = (size) => {
      context.beginPath();
      context.arc(x, y, size, 0, 2 * Math.PI);
    };
    context.globalAlpha = node.fading === undefined ? 1 : 0.15 + 0.85 * node.fading;
    const fill = node.fading === undefined ? this.fill(node) : null;
    circle(radius);
    context.fillStyle = fill ?? this.colors.page;
    context.fill();
    context.lineWidth = this.nodes.size > 200 ? 0.5 : 1.5;
    context.strokeStyle = fill ? this.colors.ink : this.colors.quiet;
    if (node.member?.state === 'suspect') context.setLineDash([3, 3]);
    context.stroke();
    context.setLineDash([]);
    if (node.isHidden) this.hollow(context, () => circle(0.4 * radius));
    if (node.fading !== undefined) this.cross(context, x, y, 0.6 * radius);
    if (isPaused(node)) this.bars(context, x, y, 0.5 * radius);
    if (node.isSelf) this.ring(context, () => circle(radius + 4), this.colors.own);
    if (node.name === this.selected || node.name === this.hovered)
      this.ring(context, () => circle(radius + 7), this.colors.ink);
    context.globalAlpha = 1;
  }

  ring(context, circle, color) {
    context.lineWidth = 2.5;
    context.strokeStyle = color;
    circle();
    context.stroke();
  }

  hollow(context, circle) {
    circle();
    context.fillStyle = this.colors.page;
    context.fill();
    context.stroke();
  }

  cross(context, x, y, size) {
    context.beginPath();
    for (const turn of [-1, 1]) {
      context.moveTo(x - size, y - turn * size);
      context.lineTo(x + size, y + turn * size);
    }
    context.stroke();
  }

  // The two bars that mean a pause everywhere, in the middle of the node.
  bars(context, x, y, size) {
    context.beginPath();
    for (const side of [-0.6, 0.6]) {
      context.moveTo(x + side * size, y - size);
      context.lineTo(x + side * size, y + size);
    }
    for (const [width, color] of [[0.9 * size, this.colors.page], [0.45 * size, this.colors.ink]]) {
      context.lineWidth = width;
      context.strokeStyle = color;
      context.stroke();
    }
  }

  // "17" of node-17, where there are many and all begin alike.
  label(name) {
    return this.nodes.size > kWholeNames ? name.slice(this.prefix) : name;
  }

  paintNames(context) {
    this.prefix = commonPrefix([...this.nodes.keys()]);
    const own = this.self()?.name;
    context.font = `${this.nodes.size > 30 ? 11 : 13}px system-ui, sans-serif`;
    context.textAlign = 'center';
    context.textBaseline = 'top';
    context.lineWidth = 3;
    context.strokeStyle = this.colors.page;
    context.fillStyle = this.colors.ink;
    for (const place of this.layout.nodes) {
      const [x, y] = this.view.toScreen(place);
      const below = y + this.radius() + (place.name === own ? 7 : 3);
      context.strokeText(this.label(place.name), x, below);
      context.fillText(this.label(place.name), x, below);
    }
  }

  // ---- pointer and keys

  zoom(factor) {
    this.view.zoom(factor, this.size.width / 2, this.size.height / 2);
    this.draw();
  }

  // With Ctrl, as on maps; without, the page scrolls.
  wheel(event) {
    if (!event.ctrlKey) return;
    event.preventDefault();
    this.view.zoom(Math.exp(-event.deltaY / 200), event.offsetX, event.offsetY);
    this.draw();
  }

  nearest(x, y) {
    let best = null;
    let least = Math.max(kReach, this.radius()) ** 2;
    for (const place of this.layout.nodes) {
      const [px, py] = this.view.toScreen(place);
      const away = (px - x) ** 2 + (py - y) ** 2;
      if (away < least) [best, least] = [place.name, away];
    }
    return best;
  }

  press(event) {
    this.drag = { x: event.offsetX, y: event.offsetY, moved: 0 };
  }

  move(event) {
    if (this.drag && event.buttons > 0 && event.pointerType === 'mouse') {
      const [dx, dy] = [event.offsetX - this.drag.x, event.offsetY - this.drag.y];
      this.drag = { x: event.offsetX, y: event.offsetY, moved: this.drag.moved + Math.hypot(dx, dy) };
      if (this.drag.moved < 4) return;
      this.view.drag(dx, dy);
      return this.draw();
    }
    this.hover(this.nearest(event.offsetX, event.offsetY), event);
  }

  release(event) {
    if (this.drag && this.drag.moved < 4) this.select(this.nearest(event.offsetX, event.offsetY));
    this.drag = null;
  }

  hover(name, event) {
    const tip = byId('tip');
    tip.hidden = name === null;
    this.canvas.classList.toggle('points', name !== null);
    if (name !== null) {
      setText(tip, this.summary(name));
      tip.style.left = `${Math.min(event.offsetX + 14, this.size.width - 150)}px`;
      tip.style.top = `${event.offsetY + 14}px`;
    }
    if (name === this.hovered) return;
    this.hovered = name;
    this.draw();
  }

  // "node-2: paused, loss 0.12".
  summary(name) {
    const member = this.nodes.get(name)?.member;
    if (!member) return `${name}: not known`;
    const loss = member.loss === undefined ? '' : `, loss ${decimal(member.loss)}`;
    return `${name}: ${standing(member)}${loss}`;
  }

  select(name) {
    this.selected = name;
    this.canvas.setAttribute('aria-label', this.nodes.has(name) ? this.summary(name)
      : 'Graph of the nodes. Arrow keys go from node to node.');
    showDetails(this.nodes.get(name) ?? this.self(), this.state);
    this.draw();
  }

  // Arrows go through the nodes in the order of their names.
  key(event) {
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    if (event.key === 'Escape') return this.select(null);
    if (!(event.key in steps) || this.nodes.size === 0) return;
    event.preventDefault();
    const names = [...this.nodes.keys()];
    const at = names.indexOf(this.selected);
    const first = steps[event.key] > 0 ? 0 : names.length - 1;
    this.select(names[at < 0 ? first : (at + steps[event.key] + names.length) % names.length]);
  }
}

// Where the nodes of the graph stand: springs along edges, repulsion between all (d3-force). Nodes
// keep their places while others come and go.

const kLink = 34;            // the springs' length
const kSmoothings = 120;     // of the first places
const kSlice_ms = 12;        // of work before the browser may do something else
const kReheat = 0.4;

// First places: a circle in the order of the names, then each node between its neighbours, again
// and again. It is the power iteration towards the two slowest eigenvectors of the graph, which
// draw it without folds; a ring stays the circle.
function firstPlaces(nodes, links) {
  const count = nodes.length;
  const neighbors = nodes.map(() => []);
  for (const { source, target } of links) {
    neighbors[source].push(target);
    neighbors[target].push(source);
  }
  let places = nodes.map((_, k) => [Math.cos(2 * Math.PI * k / count), Math.sin(2 * Math.PI * k / count)]);
  for (let k = 0; k < kSmoothings; ++k) places = normalized(smoothedPlaces(places, neighbors));
  const radius = Math.min(kLink * count / (2 * Math.PI), 30 * Math.sqrt(count) + 200);
  nodes.forEach((node, k) => { [node.x, node.y] = places[k].map((place) => radius * place); });
}

function smoothedPlaces(places, neighbors) {
  return places.map((own, k) => own.map((value, axis) => {
    const near = neighbors[k];
    if (near.length === 0) return value;
    return (value + near.reduce((sum, j) => sum + places[j][axis], 0) / near.length) / 2;
  }));
}

// Centred, the axes at right angles and of the size of a unit circle's.
function normalized(places) {
  const count = places.length;
  const axes = [0, 1].map((axis) => {
    const mean = places.reduce((sum, place) => sum + place[axis], 0) / count;
    return places.map((place) => place[axis] - mean);
  });
  const dot = (a, b) => a.reduce((sum, value, k) => sum + value * b[k], 0);
  const length = (a) => Math.sqrt(2 * dot(a, a) / count) || 1;
  const x = axes[0].map((value) => value / length(axes[0]));
  const along = dot(axes[1], x) / (dot(x, x) || 1);
  const upright = axes[1].map((value, k) => value - along * x[k]);
  const y = upright.map((value) => value / length(upright));
  return x.map((value, k) => [value, y[k]]);
}

export class Layout {
  constructor() {
    this.nodes = [];  // {name, x, y}
    this.links = [];  // {source, target}: nodes
    this.key = '';
    this.simulation = d3.forceSimulation([]).stop();
    this.still = matchMedia('(prefers-reduced-motion: reduce)');
  }

  get isMoving() {
    return this.simulation.alpha() > this.simulation.alphaMin();
  }

  // `names` and `edges` [{from, to}] of the graph. Whether it differs from the one before.
  update(names, edges) {
    const key = JSON.stringify([names, edges.map(({ from, to }) => [from, to])]);
    if (key === this.key) return false;
    this.key = key;
    const before = new Map(this.nodes.map((node) => [node.name, node]));
    this.nodes = names.map((name) => before.get(name) ?? { name });
    const places = new Map(names.map((name, k) => [name, k]));
    this.links = edges.filter(({ from, to }) => places.has(from) && places.has(to))
      .map(({ from, to }) => ({ source: places.get(from), target: places.get(to) }));
    if (before.size === 0) firstPlaces(this.nodes, this.links);
    else this.placeNewcomers();
    this.begin(before.size === 0 ? 1 : kReheat);
    return true;
  }

  // Beside a neighbour that has a place.
  placeNewcomers() {
    const isPlaced = (node) => node.x !== undefined;
    for (const node of this.nodes.filter((candidate) => !isPlaced(candidate))) {
      const near = this.links.map(({ source, target }) => [this.nodes[source], this.nodes[target]])
        .filter((ends) => ends.includes(node)).flat().find(isPlaced);
      node.x = (near?.x ?? 0) + kLink * (Math.random() - 0.5);
      node.y = (near?.y ?? 0) + kLink * (Math.random() - 0.5);
    }
  }

  begin(alpha) {
    const isLarge = this.nodes.length > 200;
    this.simulation.nodes(this.nodes).alpha(alpha)
      .force('link', d3.forceLink(this.links).distance(kLink))
      .force('repulsion', d3.forceManyBody().strength(isLarge ? -40 : -90)
        .theta(isLarge ? 1.2 : 0.9).distanceMax(isLarge ? 400 : 1000))
      .force('x', d3.forceX().strength(isLarge ? 0.02 : 0.04))
      .force('y', d3.forceY().strength(isLarge ? 0.02 : 0.04));
    // Disconnected nodes and few of them need no more than a gentle pull to the middle.
  }

  // One step for one picture; where people want no motion, all steps before the next picture, in
  // slices. Whether there is something to draw.
  advance() {
    if (!this.isMoving) return false;
    if (!this.still.matches) {
      this.simulation.tick();
      return true;
    }
    const end = performance.now() + kSlice_ms;
    while (this.isMoving && performance.now() < end) this.simulation.tick();
    return !this.isMoving;
  }
}

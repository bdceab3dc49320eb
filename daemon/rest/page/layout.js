// Where the nodes of the graph stand: springs along edges, repulsion between all (d3-force). Once
// they rest, nodes keep their places while a few others come and go.

const kLink = 34;            // the springs' length
const kSmoothings = 120;     // of the first places
const kSlice_ms = 12;        // of work before the browser may do something else
const kReheat = 0.4;
const kManyNew = 0.25;       // newcomers of all nodes, from which on all get first places again

// First places: a circle in the order of the names, then each node between its neighbours, again
// and again. It is the power iteration towards the two slowest eigenvectors of the graph, which
// draw it without folds; a ring stays the circle.
function firstPlaces(nodes, links) {
  const count = nodes.length;
  let x = Float64Array.from(nodes, (_, k) => Math.cos(2 * Math.PI * k / count));
  let y = Float64Array.from(nodes, (_, k) => Math.sin(2 * Math.PI * k / count));
  const degrees = new Float64Array(count);
  for (const { source, target } of links) {
    ++degrees[source];
    ++degrees[target];
  }
  for (let k = 0; k < kSmoothings; ++k) {
    x = normalized(betweenNeighbors(x, links, degrees), null);
    y = normalized(betweenNeighbors(y, links, degrees), x);
  }
  const radius = Math.min(kLink * count / (2 * Math.PI), 30 * Math.sqrt(count) + 200);
  nodes.forEach((node, k) => { [node.x, node.y] = [radius * x[k], radius * y[k]]; });
}

function betweenNeighbors(places, links, degrees) {
  const sums = new Float64Array(places.length);
  for (const { source, target } of links) {
    sums[source] += places[target];
    sums[target] += places[source];
  }
  return places.map((place, k) => (degrees[k] > 0 ? (place + sums[k] / degrees[k]) / 2 : place));
}

// Centred, at right angles to `other` if there is one, and as long as an axis of the unit circle.
function normalized(places, other) {
  const dot = (a, b) => a.reduce((sum, value, k) => sum + value * b[k], 0);
  const mean = places.reduce((sum, value) => sum + value, 0) / places.length;
  let centred = places.map((value) => value - mean);
  if (other) {
    const along = dot(centred, other) / (dot(other, other) || 1);
    centred = centred.map((value, k) => value - along * other[k]);
  }
  const length = Math.sqrt(2 * dot(centred, centred) / places.length) || 1;
  return centred.map((value) => value / length);
}

export class Layout {
  constructor() {
    this.nodes = [];  // {name, x, y}
    this.links = [];  // {source, target, detour}: nodes
    this.key = '';
    this.simulation = d3.forceSimulation([]).stop();
    this.still = matchMedia('(prefers-reduced-motion: reduce)');
  }

  get isMoving() {
    return this.simulation.alpha() > this.simulation.alphaMin();
  }

  // `names` and `edges` [{from, to}] of the graph.
  update(names, edges) {
    const key = JSON.stringify([names, edges.map(({ from, to, detour }) => [from, to, detour])]);
    if (key === this.key) return;
    this.key = key;
    const before = new Map(this.nodes.map((node) => [node.name, node]));
    this.nodes = names.map((name) => before.get(name) ?? { name });
    const places = new Map(names.map((name, k) => [name, k]));
    this.links = edges.filter(({ from, to }) => places.has(from) && places.has(to))
      .map(({ from, to, detour }) =>
        ({ source: places.get(from), target: places.get(to), detour }));
    const isFresh = this.isFresh(names.filter((name) => !before.has(name)).length);
    if (isFresh) firstPlaces(this.nodes, this.links);
    else this.placeNewcomers();
    this.begin(isFresh ? 1 : kReheat);
  }

  // While a cluster starts, its nodes come one after another, and places between the first of them
  // would leave the graph of all folded.
  isFresh(newcomers) {
    return newcomers > 0 && (this.isMoving || newcomers >= kManyNew * this.nodes.length);
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
    // What has no edge would drift out of sight.
    const linked = new Set(this.links.flatMap(({ source, target }) => [source, target]));
    const pull = (_, k) => (!linked.has(k) ? 0.25 : isLarge ? 0.02 : 0.04);
    this.simulation.nodes(this.nodes).alpha(alpha)
      .force('link', d3.forceLink(this.links).distance(kLink))
      .force('repulsion', d3.forceManyBody().strength(isLarge ? -40 : -90)
        .theta(isLarge ? 1.2 : 0.9).distanceMax(isLarge ? 400 : 1000))
      .force('x', d3.forceX().strength(pull))
      .force('y', d3.forceY().strength(pull));
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

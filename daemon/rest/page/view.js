// What part of the graph the canvas shows: all of it, until somebody zooms or drags.

const kMargin = 34;       // pixels around the graph
const kScaleLimit = 8;
const kEase = 0.2;        // of the way to the aim, in each picture
const kLargest = 4.5;     // few nodes do not fill the canvas

export class View {
  constructor() {
    this.scale = 1;
    this.x = 0;
    this.y = 0;
    this.fits = true;
    this.isPlaced = false;
  }

  toScreen(node) {
    return [this.scale * node.x + this.x, this.scale * node.y + this.y];
  }

  // Towards where everything is in sight. Whether it moved; `at_once`: in one step.
  follow(nodes, width, height, atOnce) {
    if (!this.fits || nodes.length === 0) return false;
    const xs = nodes.map((node) => node.x);
    const ys = nodes.map((node) => node.y);
    const [left, right] = [Math.min(...xs), Math.max(...xs)];
    const [top, bottom] = [Math.min(...ys), Math.max(...ys)];
    const scale = Math.min((width - 2 * kMargin) / (right - left || 1),
                           (height - 2 * kMargin) / (bottom - top || 1), kLargest);
    const aim = { scale, x: width / 2 - scale * (left + right) / 2,
                  y: height / 2 - scale * (top + bottom) / 2 };
    const ease = atOnce || !this.isPlaced ? 1 : kEase;
    this.isPlaced = true;
    const rest = Math.abs(aim.scale / this.scale - 1) * width + Math.hypot(aim.x - this.x, aim.y - this.y);
    for (const name of ['scale', 'x', 'y']) this[name] += ease * (aim[name] - this[name]);
    return rest > 0.5;
  }

  zoom(factor, x, y) {
    const scale = Math.min(Math.max(this.scale * factor, 0.02), kScaleLimit);
    this.x = x - (x - this.x) * scale / this.scale;
    this.y = y - (y - this.y) * scale / this.scale;
    this.scale = scale;
    this.fits = false;
  }

  drag(dx, dy) {
    this.x += dx;
    this.y += dy;
    this.fits = false;
  }
}

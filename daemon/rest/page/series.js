// The series of a node over hours, in bounded memory: beyond a limit one of every two points is
// left out, evaluated ones last.

const kPointsLimit = 10000;  // as many as the node keeps itself

const isEvaluated = (point) => point.accuracy !== undefined || point.rmse !== undefined;

// Of every two points one.
function thinned(points) {
  const kept = [];
  for (let k = 0; k + 1 < points.length; k += 2)
    kept.push(isEvaluated(points[k]) && !isEvaluated(points[k + 1]) ? points[k] : points[k + 1]);
  if (points.length % 2 === 1) kept.push(points.at(-1));
  return kept;
}

// Points with increasing rounds.
export class Series {
  constructor() {
    this.clear();
  }

  clear() {
    this.points = [];
  }

  // -1 while there is none: round 0 is the initial model.
  get lastRound() {
    return this.points.at(-1)?.round ?? -1;
  }

  // Whether anything was new.
  add(points) {
    const before = this.points.length;
    for (const point of points)
      if (point.round > this.lastRound) this.points.push(point);
    const isLonger = this.points.length > before;
    while (this.points.length > kPointsLimit) this.points = thinned(this.points);
    return isLonger;
  }
}

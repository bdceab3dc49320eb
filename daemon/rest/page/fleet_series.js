// What the fleet said over the hours, at the times of this node's series to which it belongs: means
// are as old as the answer, extremes are older by what the answer says.

const kAnswersLimit = 10000;  // as many as there are points of the series

// Every second one, and the last.
const thinned = (entries) => entries.filter((_, k) => k % 2 === 1 || k + 1 === entries.length);

// From the seconds of this page to the seconds of the series, which stand still in a pause and end
// with the training.
class Timeline {
  constructor() {
    this.marks = [];  // increasing in both: {heard_s, time_s}
  }

  // The newest point of the series when it was heard.
  add(heard_s, time_s) {
    const last = this.marks.at(-1);
    if (last && (heard_s <= last.heard_s || time_s <= last.time_s)) return;
    this.marks.push({ heard_s, time_s });
    if (this.marks.length > kAnswersLimit) this.marks = thinned(this.marks);
  }

  // Between two marks in a straight line; before the first as fast as the clock; not beyond the
  // last. Undefined without marks.
  at(heard_s) {
    const [first, last] = [this.marks[0], this.marks.at(-1)];
    if (!first) return undefined;
    if (heard_s <= first.heard_s) return first.time_s + heard_s - first.heard_s;
    if (heard_s >= last.heard_s) return last.time_s;
    const after = this.firstAfter(heard_s);
    const [a, b] = [this.marks[after - 1], this.marks[after]];
    return a.time_s + (b.time_s - a.time_s) * (heard_s - a.heard_s) / (b.heard_s - a.heard_s);
  }

  firstAfter(heard_s) {
    let [low, high] = [0, this.marks.length - 1];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (this.marks[middle].heard_s > heard_s) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

const ageOf = (said) => said.age_s ?? 0;

export class FleetSeries {
  constructor() {
    this.clear();
  }

  clear() {
    this.answers = [];  // {heard_s, said}
    this.timeline = new Timeline();
  }

  // `heard_s` are seconds of this page's clock, `time_s` those of the series' newest point.
  hearSeries(heard_s, time_s) {
    this.timeline.add(heard_s, time_s);
  }

  // A document of /v1/fleet. While the series stands still, one of the newest takes the place of
  // the one before.
  add(heard_s, said) {
    const before = this.answers.at(-2);
    const stands = before && this.timeline.at(before.heard_s - ageOf(before.said)) ===
      this.timeline.at(heard_s - ageOf(said));
    if (stands) this.answers.pop();
    this.answers.push({ heard_s, said });
    if (this.answers.length > kAnswersLimit) this.answers = thinned(this.answers);
  }

  // [{time_s, value}] with increasing times: what `pick` finds in each document, without what it
  // does not find. `areExtremes`: the values are as old as the document says.
  values(pick, areExtremes) {
    const found = [];
    for (const { heard_s, said } of this.answers) {
      const value = pick(said);
      const time_s = this.timeline.at(heard_s - (areExtremes ? ageOf(said) : 0));
      if (!Number.isFinite(value) || time_s === undefined) continue;
      while (found.length > 0 && found.at(-1).time_s >= time_s) found.pop();
      found.push({ time_s, value });
    }
    return found;
  }
}

// From series to curves: a few hundred points of each, smoothed, over a common abscissa.

const kPointsShown = 500;
const kMeans = ['loss', 'accuracy', 'rmse', 'distance', 'distance_to_optimum'];
const kRateOver_s = 1;  // of bytes a second: a round that follows at once is no hundred megabytes

function mean(values) {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
}

// One point for each group of rounds that follow each other: means.
function summary(group) {
  const { round, time_s, bytes } = group.at(-1);
  const means = kMeans.map((name) => [name, mean(group.map((point) => point[name]))]);
  return { round, time_s, bytes, ...Object.fromEntries(means) };
}

// Adds bytes a second, since the newest point that is old enough.
function addRates(points) {
  let from = { time_s: 0, bytes: 0 };
  let next = 0;
  for (const point of points) {
    while (points[next].time_s <= point.time_s - kRateOver_s) from = points[next++];
    const elapsed_s = point.time_s - from.time_s;
    point.bytes_per_s = elapsed_s > 0 ? (point.bytes - from.bytes) / elapsed_s : null;
  }
  return points;
}

// Groups begin at the same points while the series grows, so that curves do not flicker.
export function shown(points) {
  let size = 1;
  while (points.length / size > kPointsShown) size *= 2;
  const summaries = [];
  for (let k = 0; k < points.length; k += size) summaries.push(summary(points.slice(k, k + size)));
  return addRates(summaries);
}

// Exponential moving average, corrected for its beginning; what is not known stays unknown. For a
// logarithmic axis it is that of the logarithms, else a steep fall would seem to come late.
export function smoothed(values, share, isLogarithmic) {
  if (!isLogarithmic) return average(values, share);
  const logarithms = aboveZero(values).map((value) => (value === null ? null : Math.log(value)));
  return average(logarithms, share).map((value) => (value === null ? null : Math.exp(value)));
}

// Over the same part of the abscissa, however many points there are: a few evaluations are hardly
// smoothed.
function average(values, shareOfMany) {
  const known = values.filter((value) => value !== null).length;
  const share = shareOfMany ** (kPointsShown / Math.max(known, 1));
  let sum = 0;
  let weight = 0;
  return values.map((value) => {
    if (value === null) return null;
    sum = share * sum + (1 - share) * value;
    weight = share * weight + (1 - share);
    return sum / weight;
  });
}

// The value at each of the increasing times, between two that are known in a straight line; null
// before the first and after the last. `known` are {time_s, value} with increasing times.
export function interpolated(known, times) {
  let next = 0;
  return times.map((at) => {
    while (next < known.length && known[next].time_s < at) ++next;
    if (next === known.length) return null;
    if (next === 0) return known[0].time_s === at ? known[0].value : null;
    const [a, b] = [known[next - 1], known[next]];
    return a.value + (b.value - a.value) * (at - a.time_s) / (b.time_s - a.time_s);
  });
}

// The same, and the first and last value beyond them.
function held(known, times) {
  const [first, last] = [known[0].time_s, known.at(-1).time_s];
  return interpolated(known, times.map((at) => Math.min(Math.max(at, first), last)));
}

// An edge of the band around the mean. Between two of its values, which may be many rounds apart, it
// has the shape of the mean: what goes in a straight line is its distance from it.
export function edge(extremes, mean, times, isLogarithmic) {
  const [to, back] = isLogarithmic ? [Math.log, Math.exp] : [(value) => value, (value) => value];
  const onAxis = (known) => known.filter(({ value }) => !isLogarithmic || value > 0)
    .map(({ time_s, value }) => ({ time_s, value: to(value) }));
  const middle = onAxis(mean);
  if (middle.length === 0) return interpolated(extremes, times);
  const ends = onAxis(extremes);
  const under = held(middle, ends.map(({ time_s }) => time_s));
  const away = ends.map(({ time_s, value }, k) => ({ time_s, value: value - under[k] }));
  const shape = held(middle, times);
  return interpolated(away, times).map((value, k) => (value === null ? null : back(value + shape[k])));
}

// For a logarithmic axis: what is not above zero has no place on it.
export const aboveZero = (values) => values.map((value) => (value > 0 ? value : null));

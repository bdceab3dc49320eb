// What this node knew of the fleet over the hours: means are as old as their point, extremes are
// older by what the point says.

// [{time_s, value}] with increasing times: what `pick` finds in each point, without what it does not
// find. `areExtremes`: the values are as old as the point says.
export function fleetValues(points, pick, areExtremes) {
  const found = [];
  for (const point of points) {
    const value = pick(point);
    const time_s = point.time_s - (areExtremes ? point.age_s ?? 0 : 0);
    if (!Number.isFinite(value)) continue;
    while (found.length > 0 && found.at(-1).time_s >= time_s) found.pop();
    found.push({ time_s, value });
  }
  return found;
}

// Numbers as people read them. What is not known is a dash.

const kUnknown = '–';
const isKnown = (value) => typeof value === 'number' && Number.isFinite(value);

export function integer(value) {
  return isKnown(value) ? Math.round(value).toLocaleString('en') : kUnknown;
}

// Three significant digits: 0.142, 12.3, 4.1e-5.
export function decimal(value) {
  if (!isKnown(value)) return kUnknown;
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(1).replace('.0e', 'e').replace('e+', 'e');
  if (size >= 1000) return integer(value);
  return String(Number(value.toPrecision(3)));
}

export function percent(share) {
  return isKnown(share) ? `${Number((100 * share).toPrecision(3))} %` : kUnknown;
}

function withUnit(value, base, units) {
  let unit = 0;
  while (Math.abs(value) >= base && unit + 1 < units.length) {
    value /= base;
    ++unit;
  }
  return `${Number(value.toPrecision(3))} ${units[unit]}`;
}

export function bytes(value) {
  if (isKnown(value) && Math.abs(value) < 0.5) return '0 B';
  return isKnown(value) ? withUnit(value, 1000, ['B', 'kB', 'MB', 'GB', 'TB', 'PB']) : kUnknown;
}

export function rate(value) {
  return isKnown(value) ? `${bytes(value)}/s` : kUnknown;
}

// "5 min 10 s", "5 min".
const inTwoUnits = (whole, unit, part, smaller) =>
  (part > 0 ? `${whole} ${unit} ${part} ${smaller}` : `${whole} ${unit}`);

// 4 ms, 3.2 s, 5 min 10 s, 3 h 20 min.
export function duration(value) {
  if (!isKnown(value)) return kUnknown;
  if (value === 0) return '0 s';
  if (value < 1) return `${Number((1000 * value).toPrecision(2))} ms`;
  if (value < 10) return `${Number(value.toFixed(1))} s`;
  if (value < 60) return `${Math.floor(value)} s`;
  if (value < 3600) return inTwoUnits(Math.floor(value / 60), 'min', Math.floor(value % 60), 's');
  return inTwoUnits(Math.floor(value / 3600), 'h', Math.floor((value % 3600) / 60), 'min');
}

export function clock(date) {
  return date.toLocaleTimeString('en-GB');
}

// Small pictures of numbers as SVG. Every mark says its value to a pointer that rests on it.
const WIDE = 340, HIGH = 190, LEFT = 46, BOTTOM = 24, TOP = 10, RIGHT = 16;

function ticks(low, high, count) {
  if (high <= low) return [low];
  const raw = (high - low) / (count + 1), power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-9; value += step) found.push(value);
  return found;
}

function frame(xLow, xHigh, yLow, yHigh) {
  const svg = shape("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img" });
  const x = (value) => LEFT + ((value - xLow) / (xHigh - xLow || 1)) * (WIDE - LEFT - RIGHT);
  const y = (value) => HIGH - BOTTOM - ((value - yLow) / (yHigh - yLow || 1)) * (HIGH - BOTTOM - TOP);
  const spacing = (ticks(yLow, yHigh, 4)[1] ?? yHigh) - ticks(yLow, yHigh, 4)[0];
  const digits = spacing > 0 ? Math.min(8, Math.max(0, -Math.floor(Math.log10(spacing)))) : 2;
  for (const value of ticks(yLow, yHigh, 4)) {
    svg.append(shape("line", { class: "axis", x1: LEFT, x2: WIDE - RIGHT, y1: y(value), y2: y(value) }));
    const text = Math.abs(value) >= 1e5
      ? value.toLocaleString("en", { notation: "compact", maximumSignificantDigits: 4 })
      : value.toLocaleString("en", { maximumFractionDigits: digits });
    svg.append(svgText(LEFT - 5, y(value) + 4, text, "end"));
  }
  for (const value of ticks(Math.ceil(xLow), xHigh, 6)) {
    if (Number.isInteger(value)) svg.append(svgText(x(value), HIGH - 7, number(value + 0))); // -0 + 0 is 0
  }
  return { svg, x, y };
}

function figure(title, svg, caption) {
  svg.setAttribute("aria-label", `${title}. ${caption}`);
  byId("charts").append(element("figure", {}, element("h3", { textContent: title }), svg,
    element("figcaption", { textContent: caption })));
}

function eigenvalueChart() {
  const values = data.eigenvalues, k = data.clusters.length;
  const low = Math.min(...values), pad = (1 - low) * 0.08 || 0.01;
  const { svg, x, y } = frame(0.5, values.length + 0.5, Math.max(low - pad, -1), 1 + pad / 2);
  if (values.length > k) {
    const top = y(values[k - 1]), height = Math.max(1, y(values[k]) - top);
    svg.append(shape("rect", { class: "gap", x: x(k), width: x(k + 1) - x(k), y: top, height }));
  }
  values.forEach((value, i) => {
    const hint = `eigenvalue ${i + 1}: ${value}`;
    const size = values.length > 60 ? 2 : 3.6;
    svg.append(i < k
      ? shape("circle", { class: "mark", cx: x(i + 1), cy: y(value), r: size }, hint)
      : shape("rect", { class: "next", x: x(i + 1) - size, y: y(value) - size, width: 2 * size, height: 2 * size }, hint));
  });
  figure("Eigenvalues of the graph", svg, data.gap === null
    ? "No eigenvalue is known behind the last cluster's."
    : `Dots: the ${k} of the clusters; squares: the next. The gap between them is ${percent(data.gap)} of the next one's distance from 1.`);
}

function nonzerosChart() {
  const { width, counts } = data.nonzeros;
  const { svg, x, y } = frame(-0.5, counts.length * width - 0.5, 0, Math.max(...counts));
  counts.forEach((count, i) => {
    const from = i * width, to = from + width - 1;
    svg.append(shape("rect", { class: "mark", x: x(from - 0.45), width: Math.max(1, x(to + 0.45) - x(from - 0.45)),
      y: y(count), height: y(0) - y(count) }, `${plural(count, "sample")} with ${from === to ? from : `${from} to ${to}`} nonzeros`));
  });
  figure("Nonzeros of a code", svg, "How many samples are written with so many others.");
}

function objectiveChart() {
  const all = data.objective;
  const skip = all.length > 2 && all[0] - all[1] > 0.8 * (all[0] - all[all.length - 1]) ? 1 : 0;
  const values = all.slice(skip), low = Math.min(...values), high = Math.max(...values);
  const { svg, x, y } = frame(skip, all.length - 1, low, high);
  svg.append(shape("polyline", { class: "line", points: values.map((value, i) => `${x(i + skip)},${y(value)}`).join(" ") }));
  values.forEach((value, i) => svg.append(
    shape("circle", { class: "mark", cx: x(i + skip), cy: y(value), r: 2.2 }, `iteration ${i + skip}: ${value}`)));
  figure("Objective by iteration", svg, `From ${number(all[0])} at the start to ${number(all[all.length - 1])}.` +
    (skip ? " The start lies far above the picture." : ""));
}

eigenvalueChart();
if (data.nonzeros) nonzerosChart();
if (data.objective) objectiveChart();

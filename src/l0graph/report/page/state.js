// The data, what is selected, and who wants to know when that changes.
const data = JSON.parse(byId("data").textContent);
const samples = data.samples;
const placeOf = new Map(samples.index.map((index, place) => [index, place]));

// After Okabe and Ito; neighbours on the circle get different ones.
const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"];
const around = data.clusters.map((_, c) => c);
around.sort((a, b) => angle(b) - angle(a) || a - b);
const colors = [];
around.forEach((c, place) => { colors[c] = PALETTE[place % PALETTE.length]; });

function angle(c) {
  const [x, y] = data.clusters[c].center;
  return Math.atan2(y, x);
}

const state = { cluster: -1, attached: false, find: "", order: "cluster", held: -1, hovered: -1, visible: [] };
const listeners = { filter: [], sample: [], theme: [] };
const on = (what, listener) => listeners[what].push(listener);
const tell = (what) => listeners[what].forEach((listener) => listener());

const current = () => (state.hovered >= 0 ? state.hovered : state.held);
const labelOf = (place) => samples.ids ? samples.ids[place] : `sample ${samples.index[place]}`;
const clusterName = (c) => `cluster ${data.clusters[c].name}`;

function matches(place) {
  if (state.cluster >= 0 && samples.cluster[place] !== state.cluster) return false;
  if (state.attached && !samples.attached[place]) return false;
  if (!state.find) return true;
  if (/^\d+$/.test(state.find) && String(samples.index[place]) === state.find) return true;
  return samples.ids !== null && samples.ids[place].toLowerCase().includes(state.find.toLowerCase());
}

const ORDERS = {
  cluster: (a, b) => samples.cluster[a] - samples.cluster[b] || a - b,
  input: (a, b) => a - b,
  held: (a, b) => samples.held[a] - samples.held[b] || a - b,
};

function refilter() {
  state.visible = samples.index.map((_, place) => place).filter(matches).sort(ORDERS[state.order]);
  state.visibleSet = new Set(state.visible);
  if (state.find && state.visible.length) state.held = state.visible[0];
  state.hovered = -1;
  tell("filter");
  tell("sample");
}

function filterBy(change) {
  Object.assign(state, change);
  refilter();
}

function hold(place) {
  state.held = place;
  state.hovered = -1;
  tell("sample");
}

function hover(place) {
  if (place === state.hovered) return;
  state.hovered = place;
  tell("sample");
}

function walk(step) {
  if (!state.visible.length) return;
  const at = state.visible.indexOf(state.held);
  const next = at < 0 ? 0 : (at + step + state.visible.length) % state.visible.length;
  hold(state.visible[next]);
}

function walkByKeys(target) {
  target.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) { walk(step); event.preventDefault(); }
    if (event.key === "Escape") hold(-1);
  });
}

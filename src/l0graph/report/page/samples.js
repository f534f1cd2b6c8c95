// A sample by itself: its picture or values, its cluster, its neighbours; and all that pass the filter.
const PAGE = 300, LINE = 40; // samples at a time; of each cluster where all are listed
let shownMembers = PAGE;

function thumb(place, side) {
  const { sprite, columns, width, height } = data.images;
  const scale = side / Math.max(width, height);
  const made = element("span", { className: "thumb" });
  made.style.width = `${width * scale}px`;
  made.style.height = `${height * scale}px`;
  made.style.backgroundImage = `url(${sprite})`;
  made.style.backgroundSize = `${columns * width * scale}px auto`;
  made.style.backgroundPosition = `${-(place % columns) * width * scale}px ${-Math.floor(place / columns) * height * scale}px`;
  return made;
}

function colorDot(c) {
  const made = element("span", { className: "dot" });
  made.style.backgroundColor = colors[c];
  return made;
}

let curves = null;

function curve(place) {
  const { bins, low, high } = data.values;
  curves ??= bytes(data.values.curves);
  const svg = shape("svg", { class: "curve", viewBox: "0 0 300 70", preserveAspectRatio: "none", role: "img" },
    `all features, from ${low} to ${high}`);
  const points = Array.from({ length: bins }, (_, b) =>
    `${300 * (b + 0.5) / bins},${66 - 62 * curves[place * bins + b] / 255}`);
  svg.append(shape("polyline", { class: "line", points: points.join(" "), "vector-effect": "non-scaling-stroke" }));
  return svg;
}

function valueTable(place) {
  const { names, rows } = data.values, more = data.shape[1] - names.length;
  const table = element("table", { className: "values" });
  names.forEach((name, j) => table.append(row(name, rows[place][j])));
  if (more > 0) table.append(row(`and ${number(more)} more`, ""));
  return table;
}

function row(name, value, changed = false) {
  return element("tr", { className: changed ? "changed" : "" },
    element("td", { textContent: name }), element("td", { textContent: value }));
}

function neighbourRow([index, weight, c], own, strongest) {
  const at = placeOf.get(index), known = at !== undefined;
  const fill = element("i");
  fill.style.width = `${100 * weight / strongest}%`;
  const name = element("span", { className: c === own ? "" : "other" }, colorDot(c),
    `${known ? labelOf(at) : `sample ${index}`}${c === own ? "" : ` in ${clusterName(c)}`}`);
  const picture = data.images ? (known ? thumb(at, 30) : element("span", { textContent: "·" })) : element("span");
  const button = element("button", { type: "button", disabled: !known, title: known ? "" : "not among the samples shown" },
    picture, name, element("span", { className: "bar" }, fill),
    element("span", { className: "weight", textContent: weight.toPrecision(2) }));
  if (known) button.addEventListener("click", () => hold(at));
  return element("li", {}, button);
}

function drawDetail() {
  const box = byId("detail"), now = current();
  if (now < 0) {
    box.replaceChildren(element("p", { className: "quiet", textContent:
      "Point at a sample in the map, or click one below: here you see it, its cluster and its neighbours in the graph." }),
      walkButtons());
    return;
  }
  const c = samples.cluster[now], links = samples.links[now];
  const lines = [];
  if (samples.ids) lines.push(`sample ${samples.index[now]}`);
  if (samples.classes && samples.classes[now] !== "") lines.push(`known class ${samples.classes[now]}`);
  if (samples.attached[now]) lines.push("attached afterwards");
  if (samples.degree[now]) lines.push(`${percent(samples.held[now])} of its weight in its cluster`);
  if (samples.nonzeros) lines.push(plural(samples.nonzeros[now], "nonzero") + " in its code");
  if (samples.residual && samples.residual[now] !== null) lines.push(`its code leaves ${percent(samples.residual[now])} of it`);
  const head = element("div", {}, element("p", { className: "name", textContent: labelOf(now) }),
    element("p", {}, colorDot(c), clusterName(c)));
  const children = [
    element("div", { className: "head" }, data.images ? thumb(now, 112) : null, head),
    element("p", { className: "facts", textContent: lines.join(" · ") }),
  ];
  if (data.values) children.push(curve(now));
  children.push(element("h3", { textContent: links.length
    ? `Neighbours (${links.length < samples.degree[now] ? `${links.length} strongest of ${number(samples.degree[now])}` : links.length})`
    : "No neighbours in the graph" }));
  children.push(element("ul", { className: "neighbours" }, ...links.map((link) => neighbourRow(link, c, links[0][1]))));
  if (links.some(([index]) => !placeOf.has(index))) {
    children.push(element("p", { className: "quiet", textContent: "Pale ones are not among the samples shown." }));
  }
  if (data.values) children.push(element("h3", { textContent: "Values" }), valueTable(now));
  children.push(walkButtons());
  box.replaceChildren(...children);
}

function walkButtons() {
  const button = (text, step) => {
    const made = element("button", { type: "button", textContent: text });
    made.addEventListener("click", () => walk(step));
    return made;
  };
  return element("div", { className: "walk" }, button("← previous", -1), button("next →", 1));
}

function memberButton(place) {
  const text = `${labelOf(place)}, ${clusterName(samples.cluster[place])}`;
  const button = element("button", { type: "button", title: text, "aria-label": text, "data-place": place, tabIndex: -1 });
  if (data.images) button.append(thumb(place, 40));
  else { button.className = "text"; button.textContent = samples.ids ? labelOf(place) : samples.index[place]; }
  button.style.borderColor = colors[samples.cluster[place]];
  return button;
}

// Sorted by cluster and unfiltered: one line of members for each cluster. Otherwise all that pass, page by page.
function drawMembers() {
  const grouped = state.order === "cluster" && state.cluster < 0 && !state.attached && !state.find;
  const box = byId("members");
  box.className = grouped ? "grouped" : "";
  if (grouped) {
    const groups = data.clusters.map(() => []);
    for (const place of state.visible) groups[samples.cluster[place]].push(place);
    box.replaceChildren(...groups.map((group, c) => {
      const all = element("button", { type: "button", className: "text", textContent: `${data.clusters[c].name} (${number(data.clusters[c].size)})`,
        title: `show ${clusterName(c)} alone` });
      all.style.borderColor = colors[c];
      all.addEventListener("click", () => filterBy({ cluster: c }));
      return element("div", { className: "group" }, all, ...evenly(group, LINE).map(memberButton));
    }));
    byId("more").hidden = true;
  } else {
    const list = state.visible.slice(0, shownMembers), left = state.visible.length - list.length;
    box.replaceChildren(...list.map(memberButton));
    byId("more").hidden = left <= 0;
    byId("more").textContent = `Show more (${number(left)} left)`;
  }
  markMember();
}

function evenly(list, most) {
  if (list.length <= most) return list;
  return Array.from({ length: most }, (_, i) => list[Math.floor(i * list.length / most)]);
}

function markMember() {
  for (const button of byId("members").querySelectorAll("[aria-pressed=true]")) button.setAttribute("aria-pressed", "false");
  byId("members").querySelector(`[data-place="${current()}"]`)?.setAttribute("aria-pressed", "true");
}

const memberOf = (event) => event.target.closest("[data-place]");
byId("members").addEventListener("click", (event) => {
  const member = memberOf(event);
  if (member) hold(Number(member.dataset.place));
});
byId("members").addEventListener("pointerover", (event) => hover(memberOf(event) ? Number(memberOf(event).dataset.place) : -1));
byId("members").addEventListener("pointerleave", () => hover(-1));
byId("more").addEventListener("click", () => { shownMembers += PAGE; drawMembers(); });
walkByKeys(byId("members")); // one stop of the tab key for all of them
on("filter", () => { shownMembers = PAGE; drawMembers(); });
on("sample", () => { drawDetail(); markMember(); });

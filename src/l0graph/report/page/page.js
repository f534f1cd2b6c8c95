// Everything that is said once, the controls, and the start.
function fillHead() {
  const [n, d] = data.shape;
  byId("title").textContent = data.name || "Unnamed data";
  byId("subtitle").textContent = `${number(n)} samples, ${number(d)} features, ${data.clusters.length} clusters by ${data.method}`;
  const severities = data.findings.map(([severity]) => severity);
  byId("verdict").className = ["problem", "warning", "note"].find((s) => severities.includes(s) && s !== "note") ?? "good";
  byId("verdict-title").textContent = data.verdict;
  byId("findings").append(...data.findings.map(([severity, name, text, advice]) => element("li", { className: `finding ${severity}` },
    element("span", { className: "badge", textContent: severity }), element("b", { textContent: name }),
    element("p", { textContent: text }),
    element("p", { className: "try" }, element("strong", { textContent: "Try: " }), advice))));
  byId("facts").append(...data.facts.map(([what, value, means]) => element("div", {},
    element("dt", { textContent: what }), element("dd", { className: "value", textContent: value }),
    element("dd", { className: "means", textContent: means }))));
  byId("sampling").textContent = samples.index.length < data.total
    ? `${number(samples.index.length)} of ${number(data.total)} samples are shown one by one: a quarter of them at even distances from each ` +
      "cluster, the others their strongest neighbours. Figures, curves and the graph are of all samples."
    : `All ${number(data.total)} samples are shown.`;
}

function fillClusters() {
  const largest = Math.max(...data.clusters.map((cluster) => cluster.size));
  byId("clusters").append(...data.clusters.map((cluster, c) => {
    const fill = element("i");
    fill.style.width = `${100 * cluster.size / largest}%`;
    fill.style.backgroundColor = colors[c];
    const notes = [];
    if (cluster.attached) notes.push(`${number(cluster.attached)} attached`);
    if (cluster.class !== undefined) notes.push(`${percent(cluster.share)} of class ${cluster.class}`);
    const button = element("button", { type: "button", "data-cluster": c, "aria-pressed": "false" },
      element("span", {}, colorDot(c), cluster.name, notes.length ? element("small", { textContent: notes.join(", ") }) : null),
      element("span", { className: "bar" }, fill), element("span", { textContent: number(cluster.size) }));
    button.addEventListener("click", () => {
      filterBy({ cluster: state.cluster === c ? -1 : c });
      if (state.cluster === c) byId("explore").scrollIntoView();
    });
    return element("li", {}, button);
  }));
  byId("cluster").append(element("option", { value: -1, textContent: "all" }), ...data.clusters.map((cluster, c) =>
    element("option", { value: c, textContent: `${cluster.name} (${number(cluster.size)})` })));
}

function fillRun() {
  const total = data.seconds.reduce((sum, [, seconds]) => sum + seconds, 0);
  const text = (seconds) => seconds < 0.01 ? "under 0.01 s" : `${number(Number(seconds.toPrecision(3)))} s`;
  byId("seconds").append(...data.seconds.map(([stage, seconds]) => row(stage, text(seconds))),
    row("together", text(total), true));
  byId("parameters").append(...data.parameters.map(([name, value, changed]) => row(name, value, changed)));
  byId("versions").append(...data.versions.map(([name, value]) => row(name, value)));
}

function showTab(name) {
  for (const each of ["map", "matrix"]) {
    const chosen = each === name;
    byId(`tab-${each}`).setAttribute("aria-selected", chosen);
    byId(`tab-${each}`).tabIndex = chosen ? 0 : -1;
    byId(`panel-${each}`).hidden = !chosen;
  }
  if (name === "map") drawMap();
  else { sayCell(); drawMatrix(); }
}

function listen() {
  byId("cluster").addEventListener("change", (event) => filterBy({ cluster: Number(event.target.value) }));
  byId("order").addEventListener("change", (event) => filterBy({ order: event.target.value }));
  byId("attached").addEventListener("change", (event) => filterBy({ attached: event.target.checked }));
  byId("find").addEventListener("input", (event) => filterBy({ find: event.target.value.trim() }));
  byId("clear").addEventListener("click", () => {
    byId("find").value = "";
    filterBy({ cluster: -1, attached: false, find: "", held: -1 });
  });
  const tabs = ["map", "matrix"];
  tabs.forEach((name, i) => {
    byId(`tab-${name}`).addEventListener("click", () => showTab(name));
    byId(`tab-${name}`).addEventListener("keydown", (event) => {
      if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
      showTab(tabs[1 - i]);
      byId(`tab-${tabs[1 - i]}`).focus();
    });
  });
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const paint = (theme) => { document.documentElement.dataset.theme = theme; tell("theme"); };
  byId("theme").addEventListener("click", () => paint(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  dark.addEventListener("change", () => paint(dark.matches ? "dark" : "light"));
  paint(dark.matches ? "dark" : "light");
  new ResizeObserver(() => { drawMap(); drawMatrix(); }).observe(byId("explore"));
  on("filter", () => {
    byId("cluster").value = state.cluster;
    byId("attached").checked = state.attached;
    byId("count").textContent = `${number(state.visible.length)} of ${plural(samples.index.length, "sample")}`;
    for (const button of byId("clusters").querySelectorAll("button")) {
      button.setAttribute("aria-pressed", Number(button.dataset.cluster) === state.cluster);
    }
  });
}

fillHead();
fillClusters();
fillRun();
state.visibleSet = new Set();
listen();
refilter();
showTab("map");

// The map: samples on a canvas, the current one with its links.
const map = byId("map");
const NEAR = 14; // pixels from a sample at which a pointer has it

function sized(canvas) {
  const { width, height } = canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  return { pen, width, height };
}

const mapped = { x: [], y: [] };

function drawMap() {
  if (!map.offsetWidth) return;
  const { pen, width, height } = sized(map);
  const unit = Math.min(width, height) / 3.3, k = data.clusters.length;
  const radius = Math.max(1.8, Math.min(5.5, unit * 0.42 * Math.sin(Math.PI / Math.max(k, 2)) * 2 / Math.sqrt(samples.index.length / k)));
  const at = (x, y) => [width / 2 + unit * x, height / 2 - unit * y];
  samples.index.forEach((_, i) => { [mapped.x[i], mapped.y[i]] = at(samples.x[i], samples.y[i]); });

  pen.font = "12px system-ui, sans-serif";
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillStyle = style("--soft");
  if (k <= 60) data.clusters.forEach((cluster) => {
    const [x, y] = at(1.52 * cluster.center[0], 1.52 * cluster.center[1]);
    pen.fillText(cluster.name.length > 14 ? `${cluster.name.slice(0, 13)}…` : cluster.name, x, y);
  });

  const dot = (i, size) => {
    pen.beginPath();
    pen.arc(mapped.x[i], mapped.y[i], size, 0, 2 * Math.PI);
    pen.fillStyle = samples.attached[i] ? style("--card") : colors[samples.cluster[i]];
    pen.fill();
    if (samples.attached[i]) { pen.strokeStyle = colors[samples.cluster[i]]; pen.lineWidth = 1.6; pen.stroke(); }
  };
  samples.index.forEach((_, i) => {
    pen.globalAlpha = state.visibleSet.has(i) ? 0.9 : 0.08;
    dot(i, radius);
  });
  pen.globalAlpha = 1;

  const now = current();
  if (now < 0) return;
  const strongest = samples.links[now].length ? samples.links[now][0][1] : 1;
  pen.strokeStyle = style("--ink");
  for (const [index, weight] of samples.links[now]) {
    const other = placeOf.get(index);
    if (other === undefined) continue;
    pen.lineWidth = 0.8 + 2.4 * weight / strongest;
    pen.globalAlpha = 0.75;
    pen.beginPath();
    pen.moveTo(mapped.x[now], mapped.y[now]);
    pen.lineTo(mapped.x[other], mapped.y[other]);
    pen.stroke();
    pen.globalAlpha = 1;
    dot(other, radius + 1.5);
  }
  dot(now, radius + 2.5);
  pen.lineWidth = 2.5;
  pen.strokeStyle = style("--ink");
  pen.beginPath();
  pen.arc(mapped.x[now], mapped.y[now], radius + 4, 0, 2 * Math.PI);
  pen.stroke();
}

function nearest(event) {
  const box = map.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  let best = -1, least = NEAR * NEAR;
  for (const i of state.visible) {
    const far = (mapped.x[i] - x) ** 2 + (mapped.y[i] - y) ** 2;
    if (far < least) { least = far; best = i; }
  }
  return best;
}

map.addEventListener("pointermove", (event) => hover(nearest(event)));
map.addEventListener("pointerleave", () => hover(-1));
map.addEventListener("click", (event) => hold(nearest(event)));
walkByKeys(map);
on("filter", drawMap);
on("sample", drawMap);
on("theme", drawMap);

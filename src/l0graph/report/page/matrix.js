// The graph as a matrix of weights, its samples sorted by cluster or as they came.
const matrix = byId("matrix");
const cells = { cluster: bytes(data.matrix.cluster), input: bytes(data.matrix.input) };
const sorted = () => (state.order === "input" ? "input" : "cluster");
let pointed = null;

function drawMatrix() {
  if (!matrix.offsetWidth) return;
  const { pen, width } = sized(matrix), { side, starts, perCell } = data.matrix;
  const [red, green, blue] = style("--cells").split(" ").map(Number);
  const picture = new ImageData(side, side), levels = cells[sorted()];
  for (let i = 0; i < levels.length; i++) {
    picture.data.set([red, green, blue, levels[i] ? 40 + levels[i] * 215 / 255 : 0], 4 * i);
  }
  const sheet = element("canvas", { width: side, height: side });
  sheet.getContext("2d").putImageData(picture, 0, 0);
  pen.imageSmoothingEnabled = width < side;
  pen.drawImage(sheet, 0, 0, width, width);
  const scale = width / (side * perCell);
  if (sorted() === "cluster") {
    data.clusters.forEach((cluster, c) => {
      const strong = c === state.cluster;
      pen.strokeStyle = style(strong ? "--accent" : "--soft");
      pen.lineWidth = strong ? 3 : 0.7;
      pen.strokeRect(starts[c] * scale, starts[c] * scale, cluster.size * scale, cluster.size * scale);
    });
  }
  if (pointed) {
    pen.strokeStyle = style("--ink");
    pen.lineWidth = 1;
    pen.strokeRect(pointed.column * width / side, pointed.row * width / side, width / side, width / side);
  }
}

function clusterAt(position) {
  const { starts } = data.matrix;
  let c = 0;
  while (c + 1 < data.clusters.length && starts[c + 1] <= position) c++;
  return c;
}

function place(cell) {
  const { perCell, order } = data.matrix, first = cell * perCell;
  const last = Math.min(first + perCell, data.total) - 1;
  if (sorted() === "input") return perCell === 1 ? `sample ${first}` : `samples ${number(first)} to ${number(last)}`;
  if (perCell === 1) return `sample ${order[first]} (${clusterName(clusterAt(first))})`;
  const [a, b] = [clusterAt(first), clusterAt(last)];
  return a === b ? clusterName(a) : `clusters ${data.clusters[a].name} to ${data.clusters[b].name}`;
}

function sayCell() {
  const { side, perCell, strongest, decades } = data.matrix;
  if (!pointed) {
    const each = perCell === 1 ? "a cell is a pair of samples" : `a cell is the mean over ${perCell} × ${perCell} samples`;
    byId("cell").textContent = `All ${number(data.total)} samples, ${sorted() === "cluster" ? "sorted by cluster (frames)" : "as they came"}; ` +
      `${each}, darker or brighter is stronger. Point at a cell to read it.`;
    return;
  }
  const level = cells[sorted()][pointed.row * side + pointed.column];
  const weight = strongest * 10 ** (decades * (level - 255) / 254);
  byId("cell").textContent = `${place(pointed.row)} with ${place(pointed.column)}: ` +
    (level ? `${perCell === 1 ? "" : "mean "}weight ${level === 1 ? "at most " : ""}${weight.toPrecision(2)}` : "no link");
}

matrix.addEventListener("pointermove", (event) => {
  const box = matrix.getBoundingClientRect(), { side, perCell, order } = data.matrix;
  const at = (position, length) => Math.min(side - 1, Math.max(0, Math.floor(position / length * side)));
  pointed = { row: at(event.clientY - box.top, box.height), column: at(event.clientX - box.left, box.width) };
  if (perCell === 1) {
    const index = sorted() === "input" ? pointed.row : order[pointed.row];
    hover(placeOf.has(index) ? placeOf.get(index) : -1);
  }
  sayCell();
  drawMatrix();
});
matrix.addEventListener("pointerleave", () => { pointed = null; hover(-1); sayCell(); drawMatrix(); });
matrix.addEventListener("click", () => {
  if (!pointed || sorted() === "input") return;
  const c = clusterAt(pointed.row * data.matrix.perCell);
  filterBy({ cluster: c === state.cluster ? -1 : c });
});
walkByKeys(matrix);
on("filter", () => { sayCell(); drawMatrix(); });
on("theme", drawMatrix);

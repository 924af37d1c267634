// Draws the entities and the facts between them: the strongest first, with labels that do not overlap.

const SIZE = 1000;
const ROUNDS = 250;
const COLORS = 6;
const NS = "http://www.w3.org/2000/svg";

function made(name, attributes, text) {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

const radius = (node) => Math.min(5 + 2.2 * Math.sqrt(node.degree), 26);

// Forces: all push each other away, facts pull together, and the middle attracts. The same graph always looks the same.
export function layout(nodes, edges) {
  const near = Math.sqrt((SIZE * SIZE) / Math.max(nodes.length, 1)) * 0.75;
  for (const node of nodes) node.drawn = 0;
  for (const [from, , to] of edges) {
    nodes[from].drawn += 1;
    nodes[to].drawn += 1;
  }
  nodes.forEach((node, place) => {
    const angle = place * 2.399963;
    const far = 0.45 * SIZE * Math.sqrt((place + 0.5) / nodes.length);
    node.x = SIZE / 2 + far * Math.cos(angle);
    node.y = SIZE / 2 + far * Math.sin(angle);
  });
  for (let round = 0; round < ROUNDS; round++) {
    const step = 0.1 * SIZE * (1 - round / ROUNDS) ** 2 + 0.5;
    for (const node of nodes) {
      node.dx = (SIZE / 2 - node.x) * 0.02 * near;
      node.dy = (SIZE / 2 - node.y) * 0.02 * near;
    }
    for (let i = 0; i < nodes.length; i++) {
      for (let j = i + 1; j < nodes.length; j++) push(nodes[i], nodes[j], near);
    }
    for (const [from, , to] of edges) {
      const x = nodes[to].x - nodes[from].x;
      const y = nodes[to].y - nodes[from].y;
      const pull = Math.hypot(x, y) / near / Math.sqrt(Math.max(nodes[from].drawn, nodes[to].drawn));
      nodes[from].dx += x * pull;
      nodes[from].dy += y * pull;
      nodes[to].dx -= x * pull;
      nodes[to].dy -= y * pull;
    }
    for (const node of nodes) {
      const length = Math.hypot(node.dx, node.dy) || 1;
      node.x += (node.dx / length) * Math.min(length, step);
      node.y += (node.dy / length) * Math.min(length, step);
    }
  }
}

function push(one, other, near) {
  const x = one.x - other.x || 0.01;
  const y = one.y - other.y || 0.01;
  const square = x * x + y * y;
  const room = radius(one) + radius(other) + 6;
  const force = ((near * near) / square) * (square < room * room ? 6 : 1);
  one.dx += x * force;
  one.dy += y * force;
  other.dx -= x * force;
  other.dy -= y * force;
}

// The strongest get a label first; one that would cover another label is left out until there is room.
export function placed(nodes, scale, width) {
  const points = nodes.map((node) => box(node.x - radius(node), node.y - radius(node), 2 * radius(node), 2 * radius(node)));
  const boxes = [];
  const labels = [];
  for (const [place, node] of nodes.entries()) {
    // The label of a strong node may stand on a weaker point, but on no stronger one.
    const kept = points.slice(0, place + 1);
    const w = width(node.name) / scale;
    const h = 16 / scale;
    const r = radius(node) + 2 / scale;
    const places = [
      [node.x - w / 2, node.y + r], [node.x - w / 2, node.y - r - h], [node.x + r, node.y - h / 2], [node.x - r - w, node.y - h / 2],
    ];
    const free = places.map(([x, y]) => box(x, y, w, h)).find((one) => ![...boxes, ...kept].some((other) => overlap(one, other)));
    if (!free) continue;
    boxes.push(free);
    labels.push({ node, ...free });
  }
  return labels;
}

const box = (x, y, w, h) => ({ x, y, w, h });
const overlap = (a, b) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

class Graph {
  constructor(figure, { nodes, edges }) {
    this.svg = figure.querySelector("svg");
    this.figure = figure;
    this.all = nodes.map((node, index) => ({ ...node, index }));
    this.facts = edges;
    this.kinds = [...new Set(nodes.map((node) => node.category))];
    const canvas = document.createElement("canvas").getContext("2d");
    canvas.font = `13px ${getComputedStyle(document.body).fontFamily}`;
    const widths = new Map();
    this.width = (name) => {
      if (!widths.has(name)) widths.set(name, canvas.measureText(name).width + 6);
      return widths.get(name);
    };
    this.legend();
  }

  color(node) {
    return `c${Math.min(this.kinds.indexOf(node.category), COLORS - 1)}`;
  }

  legend() {
    const legend = this.figure.querySelector(".legend");
    legend.replaceChildren(...this.kinds.map((kind, place) => {
      const name = document.createElement("span");
      name.className = `kind c${Math.min(place, COLORS - 1)}`;
      name.textContent = kind;
      return name;
    }));
  }

  show(count, category, name) {
    const fits = (node) => (!category || node.category === category) && node.name.toLowerCase().includes(name);
    this.nodes = this.all.filter(fits).slice(0, count);
    const places = new Map(this.nodes.map((node, place) => [node.index, place]));
    this.edges = this.facts
      .filter(([from, , to]) => from !== to && places.has(from) && places.has(to))
      .map(([from, said, to]) => [places.get(from), said, places.get(to)]);
    layout(this.nodes, this.edges);
    this.picked = undefined;
    this.whole();
    return this.nodes.length;
  }

  whole() {
    const xs = [SIZE / 2, ...this.nodes.map((node) => node.x)];
    const ys = [SIZE / 2, ...this.nodes.map((node) => node.y)];
    const [left, top, right, bottom] = [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
    // Labels keep their size on the screen, so they take more of a large graph, and of a narrow screen.
    const { width, height } = this.svg.getBoundingClientRect();
    const aside = 40 + 50 * (right - left) / Math.max(width - 100, 100);
    const above = 40 + 25 * (bottom - top) / Math.max(height - 50, 50);
    this.view = { x: left - aside, y: top - above, w: right - left + 2 * aside, h: bottom - top + 2 * above };
    this.draw();
  }

  scale() {
    const { width, height } = this.svg.getBoundingClientRect();
    return Math.min(width / this.view.w, height / this.view.h) || 1;
  }

  zoom(factor, x = 0.5, y = 0.5) {
    const { view } = this;
    view.x += view.w * x * (1 - 1 / factor);
    view.y += view.h * y * (1 - 1 / factor);
    view.w /= factor;
    view.h /= factor;
    this.draw();
  }

  draw() {
    const scale = this.scale();
    const { x, y, w, h } = this.view;
    this.svg.setAttribute("viewBox", `${x} ${y} ${w} ${h}`);
    const near = this.neighbours();
    const far = (node) => (near && !near.has(node) ? " far" : "");
    const lines = this.edges.map(([from, said, to]) => {
      const [a, b] = [this.nodes[from], this.nodes[to]];
      const picked = near && (a === this.picked || b === this.picked);
      const line = made("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y, class: `edge${near ? (picked ? " near" : " far") : ""}`, "stroke-width": (picked ? 2 : 1) / scale });
      line.append(made("title", {}, `${a.name} ${said.replaceAll("_", " ")} ${b.name}`));
      return line;
    });
    const points = this.nodes.map((node) => {
      const point = made("circle", { cx: node.x, cy: node.y, r: radius(node), class: `${this.color(node)}${far(node)}`, "data-node": node.index });
      point.append(made("title", {}, `${node.name} (${node.category})`));
      return point;
    });
    const first = near ? [...this.nodes].sort((a, b) => near.has(b) - near.has(a)) : this.nodes;
    const labels = placed(first, scale, this.width).map(({ node, x: left, y: top, w: wide, h: high }) =>
      made("text", { x: left + wide / 2, y: top + 0.75 * high, "font-size": 13 / scale, "stroke-width": 3 / scale, class: `label${far(node)}` }, node.name));
    this.svg.replaceChildren(...lines, ...points, ...labels);
  }

  neighbours() {
    if (!this.picked) return undefined;
    const near = new Set([this.picked]);
    for (const [from, , to] of this.edges) {
      if (this.nodes[from] === this.picked) near.add(this.nodes[to]);
      if (this.nodes[to] === this.picked) near.add(this.nodes[from]);
    }
    return near;
  }

  pick(node) {
    if (this.picked === node) return;
    this.picked = node;
    this.draw();
    const said = this.figure.querySelector(".picked");
    if (!node) return;
    const link = document.createElement("a");
    link.href = node.to;
    link.textContent = node.name;
    const about = this.edges.filter(([from, , to]) => this.nodes[from] === node || this.nodes[to] === node).slice(0, 6);
    const facts = about.map(([from, words, to]) => `${this.nodes[from].name} ${words.replaceAll("_", " ")} ${this.nodes[to].name}`);
    said.replaceChildren(link, `, ${node.category}. ${facts.join("; ")}`);
  }
}

async function begin(figure) {
  const answer = await fetch(figure.dataset.graph);
  if (!answer.ok) return;
  const graph = new Graph(figure, await answer.json());
  figure.hidden = false;
  const shown = figure.querySelector("[name=shown]");
  const output = figure.querySelector("output");
  const filter = document.querySelector(".filter");
  const wanted = (name) => filter?.elements[name].value.trim() ?? "";
  const update = () => {
    const count = graph.show(Number(shown.value), wanted("category"), wanted("name").toLowerCase());
    output.textContent = `${count} of ${graph.all.length}`;
  };
  shown.addEventListener("input", update);
  filter?.addEventListener("input", update);
  figure.querySelector("[name=closer]").addEventListener("click", () => graph.zoom(1.4));
  figure.querySelector("[name=farther]").addEventListener("click", () => graph.zoom(1 / 1.4));
  figure.querySelector("[name=whole]").addEventListener("click", () => graph.whole());
  follow(graph);
  new ResizeObserver(() => graph.draw()).observe(graph.svg);
  update();
}

// The pointer moves and picks; the list of names picks, by pointer and by keyboard.
function follow(graph) {
  const nodeOf = (event) => {
    const point = event.target.closest("[data-node]");
    return point && graph.nodes.find((node) => node.index === Number(point.dataset.node));
  };
  let from;
  graph.svg.addEventListener("pointerdown", (event) => { from = { x: event.clientX, y: event.clientY, view: { ...graph.view } }; });
  graph.svg.addEventListener("pointermove", (event) => {
    if (!from || !event.buttons) return;
    const scale = graph.scale();
    graph.view.x = from.view.x - (event.clientX - from.x) / scale;
    graph.view.y = from.view.y - (event.clientY - from.y) / scale;
    graph.draw();
  });
  graph.svg.addEventListener("click", (event) => {
    const moved = from && Math.hypot(event.clientX - from.x, event.clientY - from.y) > 4;
    if (!moved) graph.pick(nodeOf(event));
  });
  graph.svg.addEventListener("dblclick", (event) => { const node = nodeOf(event); if (node) location.href = node.to; });
  graph.svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // A page that is scrolled past stays as it is.
    event.preventDefault();
    const { left, top, width, height } = graph.svg.getBoundingClientRect();
    graph.zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, (event.clientX - left) / width, (event.clientY - top) / height);
  }, { passive: false });
  const names = document.getElementById("names");
  const listed = (event) => {
    const link = event.target.closest("a");
    const path = link && new URL(link.href).pathname;
    graph.pick(path && graph.nodes.find((node) => new URL(node.to, location.href).pathname === path));
  };
  names?.addEventListener("focusin", listed);
  names?.addEventListener("pointerover", listed);
}

export function drawGraphs(root) {
  return Promise.all([...root.querySelectorAll("[data-graph]")].map(begin));
}

drawGraphs(document);

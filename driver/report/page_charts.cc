// The script of a report, first part: elements, numbers, scales, line charts.
// SPDX-License-Identifier: Apache-2.0
#include "driver/report/page_parts.h"

namespace weft::report {

const char kChartScript[] = R"js(
window.addEventListener('error', e => {
  document.documentElement.dataset.error = e.message;
  document.body.prepend(el('p', {class: 'notes'}, 'This page could not be drawn: ' + e.message));
});

// Text only ever becomes text: nothing is parsed as HTML.
function fill(node, attrs, kids) {
  for (const [key, value] of Object.entries(attrs || {})) {
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (value !== undefined) node.setAttribute(key, value);
  }
  node.append(...kids.filter(kid => kid !== null && kid !== undefined));
  return node;
}
const el = (name, attrs, ...kids) => fill(document.createElement(name), attrs, kids);
const svg = (name, attrs, ...kids) =>
  fill(document.createElementNS('http://www.w3.org/2000/svg', name), attrs, kids);

function short(value) {
  if (value === null || value === undefined || !isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size >= 1e6 || size < 1e-3) return value.toExponential(2).replace('e+', 'e');
  if (size >= 1000) return Math.round(value).toLocaleString('en');
  return String(+value.toPrecision(4));
}

const tip = el('div', {id: 'tip', role: 'status'});
function showTip(x, y, ...content) {
  tip.replaceChildren(...content);
  tip.style.display = 'block';
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 8)) + 'px';
  tip.style.top = Math.max(4, Math.min(y + 14, innerHeight - box.height - 8)) + 'px';
}
const hideTip = () => { tip.style.display = 'none'; };

function linearTicks(low, high, count) {
  const raw = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= raw * 0.999);
  const ticks = [];
  for (let t = Math.ceil(low / step - 1e-9) * step; t <= high + step * 1e-9; t += step) ticks.push(t);
  return ticks.map(t => Math.abs(t) < step * 1e-6 ? 0 : t);
}

function logTicks(low, high) {
  const ticks = [];
  const decades = Math.log10(high / low);
  if (decades < 0.5) return linearTicks(low, high, 5);
  const marks = decades > 3 ? [1] : decades > 1.2 ? [1, 3] : [1, 1.5, 2, 3, 5, 7];
  for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); ++p) {
    for (const m of marks) {
      const t = m * 10 ** p;
      if (t >= low * 0.999 && t <= high * 1.001) ticks.push(t);
    }
  }
  return ticks.length > 1 ? ticks : [low, high];
}

// A position on an axis for each value, and its ticks.
function axis(values, from, to, log, count) {
  let low = values[0], high = low;
  for (const v of values) { low = Math.min(low, v); high = Math.max(high, v); }
  if (!log && low > 0 && low < 0.4 * high) low = 0;
  if (low === high) { const d = log ? 0 : Math.abs(low) * 0.1 || 1; low -= d; high += d; }
  if (log && low === high) { low /= 2; high *= 2; }
  const f = log ? Math.log : v => v;
  const place = v => from + (to - from) * (f(v) - f(low)) / (f(high) - f(low));
  return {place, ticks: log ? logTicks(low, high) : linearTicks(low, high, count)};
}

const kPlot = {width: 560, height: 270, left: 58, right: 14, top: 10, bottom: 34};

// spec: {title, series: [{name, color, dashed, points: [[step, value]]}], log}
class LineChart {
  constructor(spec) {
    this.spec = spec;
    this.hidden = new Set();
    this.log = Boolean(spec.log);
    this.body = el('div');
    this.button = el('button', {class: 'scale', onclick: () => { this.log = !this.log; this.draw(); }});
    const positive = spec.series.every(s => s.points.every(p => p[1] > 0));
    this.card = el('div', {class: 'card', 'data-chart': spec.title},
      el('div', {class: 'head'}, el('h3', {}, spec.title), positive ? this.button : null), this.body);
    if (!positive) this.log = false;
    this.draw();
  }

  shown() { return this.spec.series.filter(s => !this.hidden.has(s.name)); }

  draw() {
    this.button.textContent = this.log ? 'log scale' : 'linear scale';
    const series = this.shown();
    const all = series.flatMap(s => s.points);
    const p = kPlot;
    this.xs = [...new Set(all.map(q => q[0]))].sort((a, b) => a - b);
    this.x = axis(this.xs.length ? this.xs : [0], p.left, p.width - p.right, false, 6);
    this.y = axis(all.length ? all.map(q => q[1]) : [1], p.height - p.bottom, p.top, this.log, 5);
    this.cursor = svg('line', {class: 'cursor', y1: p.top, y2: p.height - p.bottom, visibility: 'hidden'});
    this.lines = series.map(s => this.line(s));
    const last = series.map(s => s.name + ' ' + short(s.points.at(-1)[1])).join(', ');
    this.svg = svg('svg', {class: 'chart', viewBox: `0 0 ${p.width} ${p.height}`, role: 'img', tabindex: 0,
      'aria-label': `${this.spec.title}: at the end ${last}`,
      onpointermove: e => this.point(e), onpointerleave: () => this.leave(), onblur: () => this.leave(),
      onkeydown: e => this.key(e)}, ...this.rules(), this.cursor, ...this.lines);
    this.body.replaceChildren(this.svg, this.legend());
  }

  rules() {
    const p = kPlot, out = [], base = p.height - p.bottom;
    for (const t of this.y.ticks) {
      const y = this.y.place(t);
      out.push(svg('line', {class: 'rule', x1: p.left, x2: p.width - p.right, y1: y, y2: y}),
        svg('text', {x: p.left - 7, y: y + 4, 'text-anchor': 'end'}, short(t)));
    }
    for (const t of this.x.ticks) {
      out.push(svg('text', {x: this.x.place(t), y: base + 17, 'text-anchor': 'middle'}, short(t)));
    }
    out.push(svg('line', {class: 'axis', x1: p.left, x2: p.width - p.right, y1: base, y2: base}),
      svg('text', {x: p.width - p.right, y: p.height - 3, 'text-anchor': 'end'}, 'step'));
    return out;
  }

  line(s) {
    const points = s.points.map(q => this.x.place(q[0]).toFixed(1) + ',' + this.y.place(q[1]).toFixed(1));
    if (points.length === 1) points.push(points[0]);  // a dot
    return svg('polyline', {'data-series': s.name, 'data-points': s.points.length, points: points.join(' '),
      style: 'stroke:' + s.color, 'stroke-dasharray': s.dashed ? '6 4' : undefined});
  }

  legend() {
    return el('div', {class: 'legend'}, ...this.spec.series.map(s => el('button', {
      'aria-pressed': String(!this.hidden.has(s.name)),
      onclick: () => { this.hidden.delete(s.name) || this.hidden.add(s.name); this.draw(); },
    }, el('i', {class: s.dashed ? 'dashed' : '', style: 'border-color:' + s.color}), s.name)));
  }

  point(e) {
    const box = this.svg.getBoundingClientRect();
    const k = kPlot.width / box.width;
    const at = (e.clientX - box.left) * k, height = (e.clientY - box.top) * k;
    const far = i => Math.abs(this.x.place(this.xs[i]) - at);
    let best = 0;
    for (let i = 1; i < this.xs.length; ++i) if (far(i) < far(best)) best = i;
    this.show(best, height, e.clientX, e.clientY);
  }

  key(e) {
    const step = {ArrowLeft: -1, ArrowRight: 1}[e.key];
    if (!step || !this.xs.length) return;
    e.preventDefault();
    const box = this.svg.getBoundingClientRect();
    const next = Math.max(0, Math.min(this.xs.length - 1, (this.index ?? this.xs.length) + step));
    this.show(next, 0, box.left + this.x.place(this.xs[next]) * box.width / kPlot.width, box.top);
  }

  show(index, height, x, y) {
    if (!this.xs.length) return;
    this.index = index;
    const step = this.xs[index], rows = [];
    this.shown().forEach((s, i) => {
      const found = s.points.find(q => q[0] === step);
      if (!found) return;
      const far = Math.abs(this.y.place(found[1]) - height);
      rows.push({name: s.name, line: this.lines[i], value: found[1], far});
    });
    const near = rows.reduce((a, b) => !a || b.far < a.far ? b : a, null);
    const isNear = row => rows.length > 1 && row === near;
    this.lines.forEach(line => line.classList.toggle('near', rows.some(row => isNear(row) && row.line === line)));
    for (const end of ['x1', 'x2']) this.cursor.setAttribute(end, this.x.place(step));
    this.cursor.setAttribute('visibility', 'visible');
    showTip(x, y, el('div', {}, 'step ' + step.toLocaleString('en')), el('table', {}, ...rows.map(row =>
      el('tr', {class: isNear(row) ? 'strong' : ''}, el('td', {}, row.name), el('td', {}, short(row.value))))));
  }

  leave() {
    this.cursor.setAttribute('visibility', 'hidden');
    this.lines.forEach(line => line.classList.remove('near'));
    hideTip();
  }
}
)js";

}  // namespace weft::report

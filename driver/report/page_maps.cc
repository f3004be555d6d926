// The script of a report, second part: colours of layers, heat maps, attention.
// SPDX-License-Identifier: Apache-2.0
#include "driver/report/page_parts.h"

namespace weft::report {

const char kMapScript[] = R"js(
// One hue for each kind of layer ("encoder.attn"), paler with depth; the same in every chart.
function layerColor(name, names) {
  const kind = [...new Set(names.map(kindOf))].indexOf(kindOf(name));
  const alike = names.filter(other => kindOf(other) === kindOf(name));
  const share = alike.length > 1 ? alike.indexOf(name) / (alike.length - 1) : 0;
  const color = `color-mix(in oklab, var(--c${kind % 6}) ${100 - 45 * share}%, var(--card))`;
  return {name, color, dashed: kind >= 6};
}
const kindOf = name => name.split('.').filter(part => !/^\d+$/.test(part)).join('.');

const dark = matchMedia('(prefers-color-scheme: dark)');
const redraws = [];  // canvases do not follow the style sheet
dark.addEventListener('change', () => redraws.forEach(draw => draw()));
function keepDrawn(draw) { redraws.push(draw); draw(); }

const kRamps = {
  light: {low: [[245, 247, 250], [158, 202, 225], [33, 113, 181], [8, 40, 90]],
          both: [[140, 45, 4], [240, 150, 80], [250, 250, 248], [90, 160, 210], [8, 64, 129]]},
  dark: {low: [[34, 38, 44], [24, 84, 140], [90, 170, 235], [240, 248, 255]],
         both: [[255, 190, 130], [190, 85, 20], [34, 38, 44], [30, 110, 180], [170, 220, 255]]},
};
const ramp = name => kRamps[dark.matches ? 'dark' : 'light'][name];
// t from 0 to 1 along the stops.
function mix(stops, t) {
  const at = Math.max(0, Math.min(1, t)) * (stops.length - 1);
  const i = Math.min(Math.floor(at), stops.length - 2);
  return stops[i].map((c, k) => Math.round(c + (stops[i + 1][k] - c) * (at - i)));
}
const shade = weight => weight ** 0.6;  // so that small weights are seen
const css = rgb => `rgb(${rgb.join(',')})`;
const inkOn = rgb => 0.3 * rgb[0] + 0.59 * rgb[1] + 0.11 * rgb[2] > 140 ? '#15171a' : '#ffffff';

// One pixel for each value; t gives its place on the ramp.
function paint(canvas, rows, columns, values, stops, t) {
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext('2d');
  const image = context.createImageData(columns, rows);
  values.forEach((value, i) => image.data.set([...mix(stops, t(value)), value === null ? 0 : 255], 4 * i));
  context.putImageData(image, 0, 0);
}

function rampBar(name, low, high) {
  const canvas = el('canvas', {'aria-hidden': 'true'});
  const steps = [...Array(64).keys()].map(i => i / 63);
  keepDrawn(() => paint(canvas, 1, 64, steps, ramp(name), name === 'low' ? shade : v => v));
  return el('div', {class: 'ramp'}, low, canvas, high);
}

// Calls tell(row, column) for where the pointer is on a canvas of so many cells.
function onCell(node, rows, columns, tell) {
  node.addEventListener('pointermove', e => {
    const box = node.getBoundingClientRect();
    const row = Math.floor((e.clientY - box.top) / box.height * rows);
    const column = Math.floor((e.clientX - box.left) / box.width * columns);
    if (row < 0 || column < 0 || row >= rows || column >= columns) return hideTip();
    showTip(e.clientX, e.clientY, tell(row, column));
  });
  node.addEventListener('pointerleave', hideTip);
}

function positionCard(map) {
  const canvas = el('canvas', {class: 'plane', role: 'img',
    'aria-label': `${map.name}: ${map.rows} positions, ${map.columns} components`,
    style: `height:${Math.max(160, Math.min(420, map.rows * 4))}px`});
  const most = map.values.reduce((a, v) => Math.max(a, Math.abs(v)), 1e-9);
  keepDrawn(() => paint(canvas, map.rows, map.columns, map.values, ramp('both'), v => 0.5 + v / most / 2));
  onCell(canvas, map.rows, map.columns, (row, column) => el('span', {},
    `position ${row}, component ${column}: ${short(map.values[row * map.columns + column])}`));
  return el('div', {class: 'card', 'data-positions': map.name},
    el('div', {class: 'head'}, el('h3', {}, map.name === map.kind ? map.name : `${map.name} (${map.kind})`),
      el('span', {class: 'soft'}, `${map.rows} positions down, ${map.columns} components across`)),
    canvas, rampBar('both', short(-most), short(most)));
}

const shownToken = text =>
  text === '' ? '∅' : text.replace(/ /g, '␣').replace(/\n/g, '⏎').replace(/\t/g, '⇥');
const widthOf = text => [...text].reduce((sum, c) => sum + (c.codePointAt(0) > 0x1100 ? 12.5 : 7.2), 0);

// The large map of one head, with its tokens.
function focusMap(map, head) {
  const cell = 22, rows = map.rows.map(shownToken), columns = map.columns.map(shownToken);
  const left = Math.min(190, Math.max(...rows.map(widthOf)) + 14);
  const top = Math.min(150, Math.max(...columns.map(widthOf)) * 0.82 + 16);
  const width = left + cell * columns.length + top * 0.62, height = top + cell * rows.length + 4;
  const values = map.heads[head];
  const rowTexts = rows.map((text, r) => svg('text', {class: 'row', 'data-token': map.rows[r], x: left - 7,
    y: top + cell * (r + 0.68), 'text-anchor': 'end'}, text));
  const columnTexts = columns.map((text, c) => svg('text', {class: 'column', 'data-token': map.columns[c],
    transform: `translate(${left + cell * (c + 0.6)},${top - 6}) rotate(-55)`}, text));
  const mark = (r, c, on) => [rowTexts[r], columnTexts[c]].forEach(text => text.classList.toggle('on', on));
  const cells = values.map((value, i) => {
    const r = Math.floor(i / columns.length), c = i % columns.length;
    const text = `${rows[r]} → ${columns[c]}: ${short(value)}`;
    return svg('rect', {x: left + cell * c + 0.5, y: top + cell * r + 0.5, width: cell - 1, height: cell - 1,
      rx: 2, 'data-row': r, 'data-weight': value,
      onpointermove: e => { mark(r, c, true); showTip(e.clientX, e.clientY, text); },
      onpointerleave: () => { mark(r, c, false); hideTip(); }});
  });
  redraws.focus = () => cells.forEach((rect, i) =>
    rect.setAttribute('fill', css(mix(ramp('low'), shade(values[i])))));
  redraws.focus();
  return svg('svg', {viewBox: `0 0 ${width.toFixed(0)} ${height.toFixed(0)}`, role: 'img',
    'data-map': map.name, 'data-head': head,
    style: `max-width:${Math.round(Math.max(width * 1.5, 500))}px`,
    'aria-label': `attention of ${map.name}, head ${head}: rows are queries, columns are keys`},
    ...cells, ...rowTexts, ...columnTexts);
}

function attentionMaps(maps) {
  const focus = el('div', {class: 'card focus'}), buttons = [];
  const choose = (map, head, button) => {
    buttons.forEach(b => b.setAttribute('aria-pressed', String(b === button)));
    focus.replaceChildren(el('div', {class: 'head'}, el('h3', {}, `${map.name}, head ${head}`),
      el('span', {class: 'soft'}, 'rows: who looks; columns: at what')), focusMap(map, head), bar);
  };
  const bar = rampBar('low', '0', '1');
  redraws.push(() => redraws.focus && redraws.focus());
  const small = (map, head) => {
    const canvas = el('canvas', {'aria-hidden': 'true'});
    keepDrawn(() => paint(canvas, map.rows.length, map.columns.length, map.heads[head], ramp('low'), shade));
    const button = el('button', {class: 'head-map', 'aria-pressed': 'false',
      'aria-label': `${map.name}, head ${head}`, onclick: () => choose(map, head, button)}, canvas, 'head ' + head);
    buttons.push(button);
    return button;
  };
  const list = el('div', {class: 'card'}, ...maps.map(map => el('div', {class: 'layer'},
    el('h3', {}, map.name), el('div', {class: 'heads'}, ...map.heads.map((_, head) => small(map, head))))));
  const first = maps.map(map => map.name).findLastIndex(name => name.includes('cross'));
  const start = maps.slice(0, Math.max(first, 0)).reduce((sum, map) => sum + map.heads.length, 0);
  choose(maps[Math.max(first, 0)], 0, buttons[start]);
  return el('div', {class: 'maps'}, list, focus);
}
)js";

}  // namespace weft::report

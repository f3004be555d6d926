// The script of a report, last part: which charts and maps a run gets.
// SPDX-License-Identifier: Apache-2.0
#include "driver/report/page_parts.h"

namespace weft::report {

const char kReportScript[] = R"js(
const data = JSON.parse(document.getElementById('data').textContent);
const page = document.getElementById('page');
const lines = data.lines;
document.title = `${data.run} · Weft report`;

const isNumber = v => typeof v === 'number' && isFinite(v);
// [[step, value]] of the lines for which `get` gives a number.
const pointsOf = get => lines.map(line => [line.step, get(line)]).filter(p => isNumber(p[1]));

function chart(title, series, log) {
  const some = series.filter(s => s.points.length);
  return some.length ? new LineChart({title, series: some, log}).card : null;
}
const scalar = (name, label, color) =>
  ({name: label, color: `var(--${color})`, points: pointsOf(line => line[name])});

const keysOf = table => [...new Set(lines.flatMap(line => Object.keys(line[table] || {})))];
const layers = [...new Set(['grad_norms', 'output_norms', 'attention'].flatMap(keysOf))];
// One line for each layer in a table of numbers.
function byLayer(title, table, log, get) {
  const value = get || ((line, layer) => (line[table] || {})[layer]);
  return chart(title, keysOf(table).map(name =>
    ({...layerColor(name, layers), points: pointsOf(line => value(line, name))})), log);
}

function section(title, lead, cards, layout, missing) {
  const some = cards.filter(card => card !== null);
  const id = title.toLowerCase().replace(/\W+/g, '-');
  page.append(el('h2', {id}, title), el('p', {class: 'lead'}, lead), some.length
    ? el('div', {class: layout || 'grid'}, ...some)
    : el('p', {class: 'soft', 'data-missing': id}, missing || 'Nothing of this was recorded.'));
  nav.append(el('a', {href: '#' + id}, title));
}

// ---- the head: what the run is, what is missing, what it warned of

const nav = el('nav', {'aria-label': 'Sections'});
const factText = value => typeof value === 'number' ? value.toLocaleString('en') : value;
page.append(tip, el('header', {}, el('h1', {}, data.run),
  el('div', {class: 'soft', id: 'status'}, data.status + (data.weights ? `; maps are of ${data.weights}` : '')),
  el('ul', {class: 'facts'}, ...data.facts.map(([name, value]) =>
    el('li', {}, el('b', {}, name), factText(value)))), nav));
if (data.notes.length) {
  page.append(el('div', {class: 'notes', id: 'notes'}, el('h3', {}, 'What is missing here'),
    el('ul', {}, ...data.notes.map(note => el('li', {}, note)))));
}
if (data.warnings.length) {
  const most = 50, rest = data.warnings.length - most;
  page.append(el('details', {class: 'notes', id: 'warnings'},
    el('summary', {}, `Warnings of the run: ${data.warnings.length}`),
    el('ul', {}, ...data.warnings.slice(0, most).map(w => el('li', {}, `step ${w.step}: ${w.text}`)),
      rest > 0 ? el('li', {}, `and ${rest} more, in metrics.jsonl`) : null)));
}

// ---- curves

section('Learning', 'The loss of training has dropout and label smoothing, that of validation has neither.', [
  chart('Loss', [scalar('loss', 'training', 'c0'), scalar('val_loss', 'validation', 'c1')]),
  chart('Perplexity', [scalar('ppl', 'training', 'c0'), scalar('val_ppl', 'validation', 'c1')], true),
  chart('Accuracy on validation data', [scalar('val_accuracy', 'accuracy', 'c2')]),
  chart('Learning rate', [scalar('lr', 'learning rate', 'c3')]),
  chart('Tokens per second', [scalar('tokens_per_s', 'tokens per second', 'c2')]),
]);

const growth = (line, layer) => {
  const input = (line.input_norms || {})[layer], output = (line.output_norms || {})[layer];
  return isNumber(input) && isNumber(output) && input > 0 ? output / input : undefined;
};
section('Gradients and layers', 'Gradient norms are taken before clipping. The update ratio is the norm of a ' +
  'step over the norm of the parameters it changes: about 1e-3 is usual. Output and input norms are root mean ' +
  'squares of what leaves and what enters a layer, on a small batch of validation data.', [
  chart('Gradient norm', [scalar('grad_norm', 'all parameters', 'c0')], true),
  byLayer('Gradient norm by layer', 'grad_norms', true),
  byLayer('Update ratio by layer', 'update_ratios', true),
  byLayer('Output norm by layer', 'output_norms', true),
  byLayer('Input norm by layer', 'input_norms', true),
  byLayer('Output norm over input norm', 'input_norms', true, growth),
]);

// ---- attention, in numbers

// The statistic's number for each head of an attention; nothing if it is not a list of numbers.
function headsOf(attention, name) {
  const list = (attention || {})[name];
  return Array.isArray(list) && list.length && list.every(isNumber) ? list : undefined;
}
function meanOfHeads(line, layer, name) {
  const heads = headsOf((line.attention || {})[layer], name);
  return heads && heads.reduce((a, b) => a + b, 0) / heads.length;
}
function valueCell(value, most) {
  const cell = el('td', {}, short(+value.toPrecision(3)));
  keepDrawn(() => {
    const rgb = mix(ramp('low'), 0.85 * value / most);
    cell.style.background = css(rgb);
    cell.style.color = inkOn(rgb);
  });
  return cell;
}
// The last evaluation: a row for each layer, a column for each head.
function headTable(title, name) {
  const last = lines.filter(line => line.attention).at(-1);
  if (!last) return null;
  const rows = Object.keys(last.attention).map(layer => [layer, headsOf(last.attention[layer], name)])
    .filter(row => row[1]);
  if (!rows.length) return null;
  const heads = Math.max(...rows.map(row => row[1].length));
  const most = Math.max(...rows.flatMap(row => row[1]), 1e-9);
  const head = [...Array(heads).keys()].map(h => el('th', {style: 'text-align:center'}, 'head ' + h));
  const table = el('table', {class: 'values'}, el('tr', {}, el('th', {}, ''), ...head),
    ...rows.map(([layer, values]) =>
      el('tr', {}, el('th', {scope: 'row'}, layer), ...values.map(value => valueCell(value, most)))));
  return el('div', {class: 'card', 'data-table': name}, el('div', {class: 'head'}, el('h3', {}, title),
    el('span', {class: 'soft'}, 'step ' + last.step)), el('div', {class: 'scroll'}, table));
}
const statistic = (title, name) => [
  byLayer(title + ', mean of heads', 'attention', false, (line, layer) => meanOfHeads(line, layer, name)),
  headTable(title + ' of each head', name)];
section('Attention statistics', 'On a small batch of validation data, without padding. Entropy in nats: 0 ' +
  'looks at one token, ln n at n tokens alike. Distance: how many positions away a head looks. Diversity: how ' +
  'little a head shares with the others, from 0 to 1.', [...statistic('Entropy', 'entropy'),
  ...statistic('Mean distance', 'distance'), ...statistic('Head diversity', 'diversity')]);

// ---- attention and positions, as maps

const kText = {src: 'Source ', tgt: 'Target ', tokens: 'Text '};
function textCard(text, decoded) {
  return el('div', {'data-text': text.name}, el('b', {}, kText[text.name]),
    decoded ? el('span', {class: 'soft'}, '(decoded greedily) ') : null, text.text, el('br'),
    ...text.tokens.map(token => el('span', {class: 'token', 'data-token': token}, shownToken(token))));
}
function exampleCard(seen) {
  const another = seen.texts.length ? '; weft report --sentence TEXT shows another.' : '.';
  return el('div', {class: 'card', style: 'margin-bottom:16px'},
    el('p', {class: 'soft'}, seen.given ? 'The sentence that was given.' : 'An example of the validation data' + another),
    ...seen.texts.map(text => textCard(text, seen.decoded && text.name === 'tgt')),
    seen.class === undefined ? null : el('div', {}, el('b', {}, 'Class that the model gives '), seen.class));
}
const seen = data.attention && data.attention.maps.length ? data.attention : null;
section('Attention maps', 'Each row shows how one token divides its attention: it sums up to 1. Choose a head ' +
  'for its map with tokens.', seen ? [exampleCard(seen), attentionMaps(seen.maps)] : [], 'maps-section');
section('Positions', 'What is added to the tokens to tell their places apart.',
  (data.positions || []).map(positionCard), 'grid', data.no_positions);
page.append(el('footer', {}, `Made by weft report from ${lines.length} lines of metrics.jsonl.`));
document.documentElement.dataset.ready = '1';
)js";

}  // namespace weft::report

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
const scalar = (name, label, color, dashed) =>
  ({name: label, color: `var(--${color})`, dashed, points: pointsOf(line => line[name])});

// One line for each key of a table of numbers, such as a layer.
function byKey(title, tables, get, log) {
  const names = [...new Set(lines.flatMap(line => Object.keys(line[tables] || {})))];
  return chart(title, layerColors(names).map(layer => ({...layer, points: pointsOf(line => get(line, layer.name))})), log);
}

function section(title, lead, cards, layout) {
  const some = cards.filter(card => card !== null);
  const id = title.toLowerCase().replace(/\W+/g, '-');
  page.append(el('h2', {id}, title), el('p', {class: 'lead'}, lead),
    some.length ? el('div', {class: layout || 'grid'}, ...some) : el('p', {class: 'soft', 'data-missing': id}, 'Nothing of this was recorded.'));
  nav.append(el('a', {href: '#' + id}, title));
}

const nav = el('nav', {'aria-label': 'Sections'});
page.append(tip, el('header', {}, el('h1', {}, data.run),
  el('div', {class: 'soft', id: 'status'}, data.status + (data.weights ? `; maps are of ${data.weights}` : '')),
  el('ul', {class: 'facts'}, ...data.facts.map(([name, value]) => el('li', {}, el('b', {}, name), typeof value === 'number' ? value.toLocaleString('en') : value))), nav));
if (data.notes.length) {
  page.append(el('div', {class: 'notes', id: 'notes'}, el('h3', {}, 'What is missing here'),
    el('ul', {}, ...data.notes.map(note => el('li', {}, note)))));
}
if (data.warnings.length) {
  const most = 50, rest = data.warnings.length - most;
  page.append(el('details', {class: 'notes', id: 'warnings'}, el('summary', {}, `Warnings of the run: ${data.warnings.length}`),
    el('ul', {}, ...data.warnings.slice(0, most).map(w => el('li', {}, `step ${w.step}: ${w.text}`)),
      rest > 0 ? el('li', {}, `and ${rest} more, in metrics.jsonl`) : null)));
}

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
section('Gradients and layers', 'Gradient norms are taken before clipping. The update ratio is the norm of a step over the norm of the parameters it changes: about 1e-3 is usual. Output and input norms are root mean squares of what leaves and what enters a layer, on a small batch of validation data.', [
  chart('Gradient norm', [scalar('grad_norm', 'all parameters', 'c0')], true),
  byKey('Gradient norm by layer', 'grad_norms', (line, layer) => (line.grad_norms || {})[layer], true),
  byKey('Update ratio by layer', 'update_ratios', (line, layer) => (line.update_ratios || {})[layer], true),
  byKey('Output norm by layer', 'output_norms', (line, layer) => (line.output_norms || {})[layer], true),
  byKey('Input norm by layer', 'input_norms', (line, layer) => (line.input_norms || {})[layer], true),
  byKey('Output norm over input norm', 'input_norms', growth, true),
]);

const mean = list => Array.isArray(list) && list.length ? list.reduce((a, b) => a + b, 0) / list.length : undefined;
const watched = lines.filter(line => line.attention);
// The numbers of the last evaluation, a row for each layer and a column for each head.
function headTable(title, statistic) {
  const last = (watched.at(-1) || {}).attention || {};
  const rows = Object.entries(last).map(([name, all]) => [name, all[statistic]]).filter(row => Array.isArray(row[1]) && row[1].length);
  if (!rows.length) return null;
  const heads = Math.max(...rows.map(row => row[1].length));
  const most = Math.max(...rows.flatMap(row => row[1]), 1e-9);
  const table = el('table', {class: 'values'}, el('tr', {}, el('th', {}, ''), ...[...Array(heads).keys()].map(h => el('th', {style: 'text-align:center'}, 'head ' + h))),
    ...rows.map(([name, values]) => el('tr', {}, el('th', {scope: 'row'}, name), ...values.map(value => {
      const cell = el('td', {}, short(+value.toPrecision(3)));
      keepDrawn(() => { const rgb = mix(ramp('low'), 0.85 * value / most); cell.style.background = css(rgb); cell.style.color = inkOn(rgb); });
      return cell;
    }))));
  return el('div', {class: 'card', 'data-table': statistic}, el('div', {class: 'head'}, el('h3', {}, title),
    el('span', {class: 'soft'}, 'step ' + watched.at(-1).step)), el('div', {class: 'scroll'}, table));
}
const statistic = (title, name) => [
  byKey(title + ', mean of heads', 'attention', (line, layer) => mean(((line.attention || {})[layer] || {})[name])),
  headTable(title + ' of each head', name)];
section('Attention statistics', 'On a small batch of validation data, without padding. Entropy in nats: 0 looks at one token, ln n at n tokens alike. Distance: how many positions away a head looks. Diversity: how little a head shares with the others, from 0 to 1.', [
  ...statistic('Entropy', 'entropy'), ...statistic('Mean distance', 'distance'), ...statistic('Head diversity', 'diversity')]);

const seen = data.attention;
const kText = {src: 'Source', tgt: 'Target', tokens: 'Text'};
const textCard = text => el('div', {'data-text': text.name}, el('b', {}, kText[text.name] + ' '),
  el('span', {class: 'soft'}, text.name === 'tgt' ? (seen.decoded ? '(decoded greedily) ' : '') : ''), text.text, el('br'),
  ...text.tokens.map(token => el('span', {class: 'token', 'data-token': token}, shownToken(token))));
section('Attention maps', 'Each row shows how one token divides its attention: it sums up to 1. Choose a head for its map with tokens.', seen && seen.maps.length ? [
  el('div', {class: 'card', style: 'margin-bottom:16px'}, el('p', {class: 'soft'}, seen.given ? 'The sentence that was given.' : 'An example of the validation data; weft report --sentence TEXT shows another.'),
    ...seen.texts.map(textCard), seen.class === undefined ? null : el('div', {}, el('b', {}, 'Class '), seen.class)),
  attentionMaps(seen.maps)] : [], 'maps-section');

section('Positions', 'What is added to the tokens to tell their places apart.', (data.positions || []).map(positionCard));
page.append(el('footer', {}, `Made by weft report from ${lines.length} lines of metrics.jsonl.`));
document.documentElement.dataset.ready = '1';
)js";

}  // namespace weft::report

// How a report looks: colours by role, for light and dark.
// SPDX-License-Identifier: Apache-2.0
#include "driver/report/page_parts.h"

namespace weft::report {

const char kStyle[] = R"css(
:root { color-scheme: light dark;
  --paper: #f6f6f4; --card: #ffffff; --ink: #1b1d21; --soft: #5d626b; --line: #dcdcd8; --grid: #ececea;
  --accent: #0b62a8; --mark: #ffe7ad; --bad: #a12622; --bad-paper: #fdeeed;
  --c0: #0b62a8; --c1: #c1480a; --c2: #00785a; --c3: #9b3f86; --c4: #7a6200; --c5: #1a8fc4; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #131518; --card: #1c1f24; --ink: #e7e8ea; --soft: #a2a8b2; --line: #343940; --grid: #282c32;
  --accent: #6fb4f0; --mark: #57430a; --bad: #ff9d94; --bad-paper: #3a1f1e;
  --c0: #6fb4f0; --c1: #ff9a5c; --c2: #4fd1a5; --c3: #e29ad2; --c4: #e0c34a; --c5: #9be0ff; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "Noto Sans", "Noto Sans CJK KR", sans-serif; }
main { max-width: 1280px; margin: 0 auto; padding: 28px 24px 64px; }
h1 { font-size: 26px; line-height: 1.2; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 19px; margin: 40px 0 4px; }
h3 { font-size: 14px; margin: 0; font-weight: 600; }
p { margin: 4px 0 12px; } .soft { color: var(--soft); } .lead { max-width: 75ch; color: var(--soft); }
a { color: var(--accent); }
nav { display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 14px 0 0; }
.facts { display: flex; flex-wrap: wrap; gap: 6px; margin: 16px 0 0; padding: 0; list-style: none; }
.facts li { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: 2px 9px; }
.facts b { font-weight: 500; color: var(--soft); margin-right: 6px; }
.notes { background: var(--bad-paper); border-left: 4px solid var(--bad); border-radius: 4px;
  padding: 10px 16px; margin: 18px 0 0; overflow-wrap: anywhere; }
summary { cursor: pointer; font-weight: 600; font-size: 14px; }
.notes ul { margin: 4px 0; padding-left: 20px; }
.grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(440px, 100%), 1fr)); gap: 16px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 14px 16px 12px;
  min-width: 0; }
.head { display: flex; justify-content: space-between; align-items: baseline; gap: 8px; margin-bottom: 6px; }
.head .soft { font-size: 12.5px; }
button { font: inherit; color: inherit; background: none; border: 1px solid transparent; border-radius: 6px;
  padding: 1px 6px; cursor: pointer; }
button:hover { border-color: var(--line); }
button:focus-visible, svg:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
.scale { font-size: 12px; color: var(--soft); border-color: var(--line); }
.chart { display: block; width: 100%; height: auto; }
.chart text { font-size: 11px; fill: var(--soft); font-variant-numeric: tabular-nums; }
.chart .rule { stroke: var(--grid); } .chart .axis { stroke: var(--line); }
.chart polyline { fill: none; stroke-width: 1.8; stroke-linejoin: round; stroke-linecap: round; }
.chart .near { stroke-width: 3.4; } .chart .cursor { stroke: var(--soft); stroke-dasharray: 3 3; }
.legend { display: flex; flex-wrap: wrap; gap: 0 4px; margin-top: 4px; font-size: 12.5px; }
.legend button { display: inline-flex; align-items: center; gap: 6px; padding: 0 5px; }
.legend button[aria-pressed=false] { opacity: .4; text-decoration: line-through; }
.legend i { width: 16px; height: 0; border-top: 3px solid; border-radius: 2px; }
.legend i.dashed { border-top-style: dashed; }
#tip { position: fixed; z-index: 9; pointer-events: none; display: none; max-width: 340px;
  background: var(--ink); color: var(--paper); border-radius: 6px; padding: 6px 10px; font-size: 12.5px;
  line-height: 1.45; box-shadow: 0 3px 14px #0005; font-variant-numeric: tabular-nums; }
#tip table { border-spacing: 0; } #tip td { padding: 0 10px 0 0; } #tip td:last-child { text-align: right; padding: 0; }
#tip .strong { font-weight: 700; }
table.values { border-collapse: separate; border-spacing: 2px; font-size: 12.5px; width: 100%; }
table.values th { font-weight: 500; text-align: left; color: var(--soft); padding: 2px 6px; white-space: nowrap; }
table.values td { text-align: center; border-radius: 4px; padding: 3px 4px; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; }
.maps { display: grid; grid-template-columns: minmax(260px, 1fr) minmax(0, 1.35fr); gap: 16px; align-items: start; }
@media (max-width: 900px) { .maps { grid-template-columns: 1fr; } }
.layer { margin: 0 0 12px; } .layer h3 { color: var(--soft); font-weight: 500; }
.heads { display: flex; flex-wrap: wrap; gap: 6px; margin-top: 4px; }
.head-map { padding: 2px; border: 2px solid transparent; line-height: 1.2; font-size: 11px; color: var(--soft); }
.head-map[aria-pressed=true] { border-color: var(--accent); color: var(--ink); }
.head-map canvas { display: block; width: 76px; height: 76px; image-rendering: pixelated; border-radius: 3px; }
.focus { position: sticky; top: 12px; }
.focus svg { display: block; width: 100%; height: auto; max-height: 82vh; }
.focus text { font-size: 12px; fill: var(--ink); } .focus text.on { font-weight: 700; fill: var(--accent); }
.plane { display: block; width: 100%; image-rendering: pixelated; border-radius: 4px; }
.ramp { display: flex; align-items: center; gap: 8px; font-size: 12px; color: var(--soft); margin-top: 8px; }
.ramp canvas { width: 160px; height: 10px; border-radius: 3px; }
.token { display: inline-block; background: var(--grid); border-radius: 4px; padding: 0 6px; margin: 0 3px 4px 0;
  white-space: pre; }
footer { margin-top: 48px; color: var(--soft); font-size: 13px; }
@media print { .focus { position: static; } .card { break-inside: avoid; } }
)css";

}  // namespace weft::report

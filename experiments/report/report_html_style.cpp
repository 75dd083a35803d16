#include "experiments/report/report_html_style.hpp"

namespace foretrain::experiments {

const char* const kReportStyle = R"css(
:root { color-scheme: light dark; --bg: #fff; --fg: #1b1f24; --muted: #57606a; --line: #d5dbe1;
  --grid: #e8ecf0; --panel: #f5f7f9; --link: #0a58a8; --warn-bg: #fff6dd; --warn: #b07d00; --bad: #b3261e; --quiet: #b3bcc5;
  --c0: #0072b2; --c1: #d55e00; --c2: #00875f; --c3: #b3578f; --c4: #927000; --c5: #2b9fd9;
  --c6: #6a4fb8; --c7: #4a4f55; --text-in: #111 }
@media (prefers-color-scheme: dark) { :root { --bg: #10151b; --fg: #e6eaee; --muted: #9da7b1;
  --line: #333d47; --grid: #232b33; --panel: #19212a; --link: #7cc0ff; --warn-bg: #2b2410; --warn: #e3b341;
  --bad: #ff8f85; --quiet: #55606b; --c0: #56b4e9; --c1: #ff8b3d; --c2: #2fc79b; --c3: #e59ac5; --c4: #e6c247; --c5: #a5d8ff;
  --c6: #b6a1ff; --c7: #c8ced4 } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 1120px; padding: 28px 36px 48px; background: var(--bg); color: var(--fg);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  overflow-wrap: break-word }
h1 { font-size: 26px; line-height: 1.2; margin: 0 0 4px }
h2 { font-size: 19px; line-height: 1.25; margin: 0 0 10px }
h3 { font-size: 15px; margin: 0 0 4px; color: var(--muted); font-weight: 600 }
p { margin: 0 0 10px }
header p { color: var(--muted); margin: 0 }
nav { margin: 12px 0 0; font-size: 14px } nav a { display: inline-block; margin-right: 14px; color: var(--link) }
section { margin-top: 40px }
figure { margin: 0 } figcaption { font-weight: 600; margin-bottom: 2px }
code { font: 0.9em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
pre { background: var(--panel); padding: 12px 14px; border-radius: 6px; overflow-x: auto; font-size: 13px;
  line-height: 1.4 }
small { color: var(--muted); font-size: 13px }
.note { color: var(--muted); font-size: 14px }
summary { cursor: pointer; color: var(--link); padding: 6px 0 }
.warnings { margin: 20px 0 0; padding: 12px 16px; background: var(--warn-bg); border-left: 5px solid var(--warn);
  border-radius: 4px }
.warnings h2 { font-size: 16px; margin: 0 0 4px } .warnings ul { margin: 0; padding-left: 20px }
.answer { margin-top: 24px; padding: 18px 22px; background: var(--panel); border-radius: 8px }
.answer + .answer { margin-top: 12px }
.lead { font-size: 20px; line-height: 1.35; font-weight: 600; margin-bottom: 10px }
.answer ul { margin: 12px 0 0; padding-left: 20px } .answer li { margin: 3px 0 }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 10px 26px;
  margin: 0 }
.tiles div { border-top: 2px solid var(--line); padding-top: 6px }
.tiles dt { font-size: 13px; color: var(--muted) }
.tiles dd { margin: 0; font-size: 22px; line-height: 1.25; font-weight: 600; font-variant-numeric: tabular-nums }
.tiles dd small { display: block; font-weight: 400; line-height: 1.35 }
.tiles dd code { font-size: 16px }
svg { display: block } svg.chart, svg.over-time { width: 100%; height: auto }
.over-time { font-size: 12px; fill: var(--muted) }
.chart text { font-size: 13px; fill: var(--fg) } .chart .tick { fill: var(--muted) }
.axis { stroke: var(--muted) } .grid { stroke: var(--grid) }
.ideal { stroke: var(--muted); stroke-width: 1.5; stroke-dasharray: 2 5; stroke-linecap: round; fill: none }
.curve { fill: none; stroke: var(--look); stroke-width: 2.25; stroke-linejoin: round }
.marker { fill: var(--look); stroke: var(--bg); stroke-width: 1 }
.whisker { fill: none; stroke: var(--look); stroke-width: 1.5 } .reach { fill: transparent }
.fill { fill: var(--look) } .range { stroke: var(--fg); stroke-width: 1.5 } .mark { stroke: var(--fg); stroke-width: 3 }
.rows + .rows, .rows + h3 { margin-top: 12px }
.link path { fill: none; stroke: var(--load) } .node { max-width: 820px } .nodes > div + div { margin-top: 18px }
.u0 { --load: var(--quiet) } .u1 { --load: #4a90c4 } .u2 { --load: #2fae84 } .u3 { --load: #e8853d }
.u4 { --load: #d1342f } .u0 path { stroke-width: 1.5 } .u1 path { stroke-width: 2.5 } .u2 path { stroke-width: 3.5 }
.u3 path { stroke-width: 4.5 } .u4 path { stroke-width: 6 }
.part .case { fill: var(--panel); stroke: var(--muted) } .part .full { fill: var(--load) }
.node .load { font-size: 11px; fill: var(--muted) } .node .end { text-anchor: end }
.c0 { --look: var(--c0) } .c1 { --look: var(--c1) } .c2 { --look: var(--c2) } .c3 { --look: var(--c3) }
.c4 { --look: var(--c4) } .c5 { --look: var(--c5) } .c6 { --look: var(--c6) } .c7 { --look: var(--c7) }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 400px), 1fr)); gap: 24px 28px }
.narrow { display: none }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 4px 20px; margin: 0 0 12px; padding: 0;
  font-size: 14px }
.legend li { display: flex; align-items: center; gap: 7px } .swatch { flex: none }
.row { display: grid; grid-template-columns: minmax(90px, 24%) 1fr 112px; gap: 12px; align-items: center;
  padding: 3px 0; break-inside: avoid }
.row .name { font-size: 14px; line-height: 1.25 }
.row .value { text-align: right; font-size: 14px; font-variant-numeric: tabular-nums; white-space: nowrap }
.bar { height: 22px } .bar text { font-size: 12px; text-anchor: middle; dominant-baseline: central }
.bar g rect { stroke: var(--bg); stroke-width: 1 }
.t0 rect { fill: #0072b2 } .t1 rect { fill: #e8853d } .t2 rect { fill: #2fae84 } .t3 rect { fill: #7cc4ee }
.t4 rect { fill: #d795ba } .t5 rect { fill: #aeb6be } .t6 rect { fill: #e5cf55 } .t7 rect { fill: #d5dbe1 }
.t8 rect { fill: #b3a2e0 }
.pipeline .wait { fill: var(--grid) } .pipeline .odd rect { fill-opacity: .72 } .pipeline { display: block }
.bar text { fill: #111 } .bar .t0 text { fill: #fff }
table { border-collapse: collapse; width: 100%; font-size: 14px; margin-top: 12px }
th, td { text-align: left; vertical-align: top; padding: 7px 12px 7px 0; border-bottom: 1px solid var(--line) }
thead th { color: var(--muted); font-weight: 600; font-size: 13px; vertical-align: bottom }
tbody th { font-weight: 600; min-width: 110px }
td small { display: block; margin-top: 2px }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.failed { color: var(--bad) }
.use { display: inline-grid; grid-template-columns: 64px 46px; gap: 8px; align-items: center;
  font-variant-numeric: tabular-nums; white-space: nowrap }
.meter { height: 10px; border-radius: 2px; overflow: hidden } .meter .rest { fill: var(--line) }
.meter .used { fill: var(--c0) }
.uses { list-style: none; margin: 0; padding: 0; font-size: 13px; line-height: 1.3 }
.uses li { display: flex; gap: 6px; align-items: center } .uses code { white-space: nowrap }
.uses .use { grid-template-columns: 40px 42px }
.scroll { overflow-x: auto } .numbers { font-size: 13px } .numbers th, .numbers td { padding: 5px 14px 5px 0 }
.numbers thead th { min-width: 5em; max-width: 9em; white-space: normal;
  overflow-wrap: normal } .numbers td { white-space: nowrap }
.sortable.live thead th { cursor: pointer } .sortable thead th[aria-sort] { color: var(--fg) }
th[aria-sort=ascending]::after { content: " \2191" } th[aria-sort=descending]::after { content: " \2193" }
.limits td:nth-child(2) { min-width: 124px } .limits td:nth-child(4) { min-width: 240px }
.limits td:nth-child(5) { min-width: 270px } .limits th:first-child { width: 150px }
.steps td { white-space: nowrap }
.differs th { box-shadow: inset 3px 0 var(--c1); padding-left: 9px }
.parameters td:nth-child(2) { white-space: nowrap }
.parameters .source td { color: var(--muted); font-size: 13px; white-space: normal; padding-top: 16px }
.fold > summary { font-size: 19px; font-weight: 600; margin-top: 20px } .fold > section { margin-top: 8px }
.fold h2 { display: none }
.matrix td { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.matrix td.best { font-weight: 700 } .matrix .share { display: block; height: 6px; margin-top: 3px }
.goals { margin: 10px 0; padding-left: 20px }
footer { margin-top: 44px; padding-top: 12px; border-top: 1px solid var(--line); color: var(--muted);
  font-size: 13px }
#tip { position: fixed; z-index: 9; pointer-events: none; max-width: 320px; padding: 5px 9px; border-radius: 5px;
  background: var(--fg); color: var(--bg); font-size: 13px; line-height: 1.35 }
@media (max-width: 700px) {
  body { padding: 18px 16px 32px } .wide { display: none } .narrow { display: block }
  .lead { font-size: 17px } .answer { padding: 14px 16px }
  .tiles { grid-template-columns: 1fr 1fr }
  .row { grid-template-columns: 1fr auto; gap: 2px 12px; padding: 5px 0 }
  .row .bar, .row .meter { grid-column: 1 / 3; grid-row: 2 }
  .stacking thead { display: none } .stacking tr { display: block; padding: 8px 0; border-bottom: 1px solid var(--line) }
  .stacking th, .stacking td { display: block; border: 0; padding: 2px 0; white-space: normal !important;
    text-align: left }
  .stacking td::before { content: attr(data-label) ": "; color: var(--muted) }
  .stacking .differs th { padding-left: 9px }
  .steps td, .limits td:nth-child(2), .limits td:nth-child(3) { display: inline-block; margin-right: 16px;
    min-width: 0 } .limits td:nth-child(n) { min-width: 0 } .limits th:first-child { width: auto } }
@media print {
  :root { color-scheme: light; --bg: #fff; --fg: #000; --muted: #444; --line: #bbb; --grid: #ddd;
    --panel: #fff; --warn-bg: #fff; --c0: #0072b2; --c1: #d55e00; --c2: #00875f; --c3: #b3578f; --c4: #927000;
    --c5: #2b9fd9; --c6: #6a4fb8; --c7: #4a4f55 }
  body { max-width: none; padding: 0; font-size: 11px } nav, summary { display: none }
  section { margin-top: 18px } .answer { margin-top: 8px; padding: 8px 12px; border: 1px solid var(--line);
    break-inside: avoid } .answer ul { margin-top: 4px } .tiles { gap: 2px 16px } .tiles div { padding-top: 2px }
  .tiles dt { font-size: 10px } .tiles dd { font-size: 14px } .tiles dd code { font-size: 10px }
  .lead { font-size: 13px; margin-bottom: 4px } .nodes > div { break-inside: avoid } .note, small, .legend, .uses, .answer li { font-size: 10px !important }
  h2 { font-size: 14px } table, .row .name, .row .value { font-size: 10px }
  .row { padding: 0 } .bar { height: 14px } .rows h3 { font-size: 11px }
  .warnings { margin-top: 8px; padding: 4px 10px; font-size: 10px } .warnings h2 { font-size: 11px }
  th, td { padding: 3px 10px 3px 0 } .matrix th svg, .matrix td small { display: inline-block; margin: 0 0 0 6px }
  .scroll { overflow: visible } .numbers, .numbers th, .numbers td { font-size: 7.5px; padding-right: 5px;
    white-space: normal !important }
  .fold:not([open]) { display: none }
  tr, figure { break-inside: avoid } h2 { break-after: avoid } }
)css";

const char* const kReportScript = R"js(
"use strict";
function sortable(table) {
  table.classList.add("live");
  const body = table.tBodies[0];
  const key = (row, column) => {
    const cell = row.cells[column];
    if (!cell) return "";
    return cell.dataset.sort === undefined ? cell.textContent : Number(cell.dataset.sort);
  };
  [...table.tHead.rows[0].cells].forEach((head, column, heads) => {
    const sort = () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const order = (a, b) => a < b ? -1 : a > b ? 1 : 0;
      const rows = [...body.rows].sort((a, b) => order(key(a, column), key(b, column)) * (up ? 1 : -1));
      body.append(...rows);
    };
    head.tabIndex = 0;
    head.addEventListener("click", sort);
    head.addEventListener("keydown", event => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(); }
    });
  });
}
function tipped(mark, tip) {
  const title = mark.querySelector("title");
  const text = title.textContent;
  title.remove();
  mark.addEventListener("pointermove", event => {
    tip.textContent = text; tip.hidden = false;
    const x = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    const y = event.clientY + 18 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 10 : event.clientY + 18;
    tip.style.left = Math.max(4, x) + "px"; tip.style.top = y + "px";
  });
  mark.addEventListener("pointerleave", () => { tip.hidden = true; });
}
function enliven(root) {
  root.querySelectorAll(".sortable").forEach(sortable);
  let tip = document.getElementById("tip");
  if (!tip) {
    tip = document.createElement("div");
    tip.id = "tip"; tip.hidden = true; document.body.append(tip);
  }
  root.querySelectorAll(".tip").forEach(mark => tipped(mark, tip));
}
)js";

} // namespace foretrain::experiments

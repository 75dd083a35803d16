// What has moved since the last answer, of a fleet or of a plan.
import { element } from "./form.js";
import { get } from "./pointer.js";

const rounded = number => Number(number.toPrecision(4)).toLocaleString("en");
const share = number => `${(100 * number).toFixed(1)} %`;
const units = [[2 * 86400, 86400, "d"], [2 * 3600, 3600, "h"], [2 * 60, 60, "min"], [0, 1, "s"]];
const duration = seconds => {
  const [, length, unit] = units.find(([from]) => seconds >= from);
  return `${rounded(seconds / length)} ${unit}`;
};

const quantities = [
  ["mean wait", "/wait_s/mean", duration], ["wait, p90", "/wait_s/p90", duration], ["mean completion", "/completion_s/mean", duration],
  ["makespan", "/makespan_s", duration], ["utilisation", "/utilisation", share], ["goodput", "/goodput", share], ["cost", "/cost", rounded],
  ["energy, kWh", "/energy_kwh", rounded], ["interruptions", "/failures/interruptions", rounded]];

const apart = (a, b) => a.low > b.high || a.high < b.low;

function fleets(now, before) {
  const rows = quantities.map(([name, at, shown]) => [name, get(now, at), get(before, at), shown]).filter(([, a, b]) => a && b && a.median !== b.median);
  if (!rows.length) return element("p", { className: "change", textContent: "As the last answer." });
  const cell = (text, label) => { const made = element("td", { textContent: text }); made.dataset.label = label; return made; };
  return element("table", { className: "stacking" },
    element("caption", { textContent: "Against the last answer" }),
    element("thead", {}, element("tr", {}, ...["", "now", "before", "ranges over seeds"].map(text => element("th", { scope: "col", textContent: text })))),
    element("tbody", {}, ...rows.map(([name, a, b, shown]) => element("tr", {}, element("th", { scope: "row", textContent: name }), cell(shown(a.median), "now"), cell(shown(b.median), "before"),
      cell(apart(a, b) ? "apart" : "overlap", "ranges")))));
}

const chosen = plan => {
  const best = plan.candidates[plan.recommended];
  return best ? `${Object.values(best.options).join(", ")}${best.cost === undefined ? "" : `, ${rounded(best.cost)} ${plan.currency ?? ""}`.trimEnd()}` : "nothing that reaches the goals";
};

function plans(now, before) {
  const [a, b] = [chosen(now), chosen(before)];
  return element("p", { className: "change", textContent: a === b ? "The same is recommended as in the last answer." : `Recommended now: ${a}; in the last answer: ${b}.` });
}

/** An element that says it; null where the two answer different questions. */
export function against(now, before) {
  if (!before || now.plan !== before.plan || now.fleet !== before.fleet || now.points || before.points) return null;
  return now.candidates ? plans(now, before) : now.wait_s ? fleets(now, before) : null;
}

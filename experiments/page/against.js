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

/** What has moved between two answers of one point: [name, now, before, how it is shown]. */
const moved = (now, before) => quantities.map(([name, at, shown]) => [name, get(now, at), get(before, at), shown]).filter(([, a, b]) => a && b && a.median !== b.median);

const pointName = settings => Object.entries(settings).map(([pointer, value]) => `${pointer.split("/").slice(1).join(" ")} ${typeof value === "object" ? JSON.stringify(value) : value}`).join(", ");

/** Pairs of points of the same settings, with what to call them. */
function pairsOf(now, before) {
  if (!now.points) return [["", now, before]];
  const others = new Map(before.points.map(point => [JSON.stringify(point.settings), point]));
  return now.points.map(point => [pointName(point.settings), point, others.get(JSON.stringify(point.settings))]).filter(([, , other]) => other);
}

const MOST_ROWS = 60; // of a sweep

function fleets(now, before) {
  const pairs = pairsOf(now, before);
  if (!pairs.length) return element("p", { className: "change", textContent: "No point of this sweep was in the last answer." });
  const rows = pairs.flatMap(([name, a, b]) => moved(a, b).map(row => [name, ...row]));
  if (!rows.length) return element("p", { className: "change", textContent: "As the last answer." });
  const cell = (text, label) => { const made = element("td", { textContent: text }); made.dataset.label = label; return made; };
  const points = now.points ? ["point"] : [];
  return element("table", { className: "stacking" },
    element("caption", { textContent: `Against the last answer${rows.length > MOST_ROWS ? `: the first ${MOST_ROWS} of ${rows.length} that moved` : ""}` }),
    element("thead", {}, element("tr", {}, ...["", ...points, "now", "before", "ranges over seeds"].map(text => element("th", { scope: "col", textContent: text })))),
    element("tbody", {}, ...rows.slice(0, MOST_ROWS).map(([point, name, a, b, shown]) => element("tr", {}, element("th", { scope: "row", textContent: name }),
      ...points.map(label => cell(point, label)), cell(shown(a.median), "now"), cell(shown(b.median), "before"), cell(apart(a, b) ? "apart" : "overlap", "ranges")))));
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
  if (!before || now.plan !== before.plan || now.fleet !== before.fleet || !now.points !== !before.points) return null;
  return now.candidates ? plans(now, before) : now.wait_s || now.points?.[0]?.wait_s ? fleets(now, before) : null;
}

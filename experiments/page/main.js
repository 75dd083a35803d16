// The page: a file, the answer to it, and what else may be asked. What is shown follows the file at once.
import { against } from "./against.js";
import { bundled, catalogue, page, read, run, told } from "./ask.js";
import { Editor } from "./editor.js";
import { Form, element } from "./form.js";
import { goalForm } from "./goal.js";
import { Levers } from "./levers.js";
import { isJson, set } from "./pointer.js";
import { commandLine, fragmentOf, pythonOf, save, stateOf } from "./share.js";

const $ = id => document.getElementById(id);
const all = await catalogue();
const state = { kind: "experiment", name: "", beside: "", text: "{}", value: {}, answer: "", held: "" };
const forms = Object.fromEntries(Object.entries(all.schemas).map(([kind, schema]) => [kind, new Form($("form"), schema, all.presets, changed)]));
const editor = new Editor($("text"), $("lines"), $("here"), written);
const levers = new Levers($("levers"), Object.fromEntries(Object.entries(all.schemas.experiment.properties.better.properties).map(([key, of]) => [key, of.description])), changed);
let current = null; // the run whose answer is waited for
let pending = 0, turn = 0;

// What the reader does -------------------------------------------------------------------------------------

function changed(pointer, entry) { // in the form
  if (entry === "copy") { // of one GPU, on a node that there is for it
    entry = { ...structuredClone(state.value.jobs[0]), name: `job${state.value.jobs.length + 1}`, gpus: 1 };
    if (state.value.cluster?.nodes) ++state.value.cluster.nodes;
  }
  const swept = Object.keys(state.value.sweep ?? {}).find(key => key.split(" ").includes(pointer));
  if (swept && pointer !== "/sweep") delete state.value.sweep[swept];
  if (state.value.sweep && !Object.keys(state.value.sweep).length) delete state.value.sweep;
  set(state.value, pointer, entry);
  state.text = JSON.stringify(state.value, null, 2);
  editor.show(state.text);
  follow(60);
}

async function written(text) { // in the editor
  state.text = text;
  const mine = ++pending;
  await new Promise(resolve => setTimeout(resolve, 250));
  if (mine !== pending) return;
  const got = await read(text);
  if (got.messages) return complain(got.messages);
  if (got.value === null || typeof got.value !== "object") return;
  state.value = got.value;
  follow(0);
}

async function begin(kind, name, beside, text) {
  const got = await read(text);
  Object.assign(state, { kind, name, beside, text, value: got.value ?? {}, answer: "", held: "", before: null });
  for (const id of ["drawing", "more", "change", "messages"]) $(id).replaceChildren();
  levers.clear();
  editor.show(text);
  forms[kind].show(state.value, kind);
  if (got.messages) return complain(got.messages);
  follow(0);
}

/** Shows the file in the form, and asks for its answer when the reader pauses. */
function follow(milliseconds) {
  editor.schema = all.schemas[state.kind];
  editor.presets = all.presets;
  editor.value = state.value;
  forms[state.kind].show(state.value, state.kind);
  levers.show(state.kind === "experiment" ? state.value.better : {});
  history.replaceState(null, "", fragmentOf(state));
  $("shown").hidden = true;
  const mine = ++pending;
  setTimeout(() => mine === pending && answer(), milliseconds);
}

// Answers -----------------------------------------------------------------------------------------------------

function say(text) { $("status").textContent = text; }

function complain(messages) {
  forms[state.kind].complain(messages);
  editor.mark(messages);
  const places = messages.map(m => `${m.line} ${m.pointer} ${m.pointer ? "" : m.problem}`);
  const entries = messages.filter((_, i) => places.indexOf(places[i]) === i).map(m => { // points of a sweep fail alike
    const place = m.line && m.file === "standard input"
      ? [element("button", { type: "button", textContent: `line ${m.line}`, onclick: () => editor.go(m.line, m.column ?? 1) })] : [];
    return element("li", {}, ...place, `${m.pointer ?? ""} ${m.problem}${m.hint ? `. ${m.hint}` : ""}`.trim());
  });
  const wrong = messages.some(m => m.kind === "error");
  $("messages").replaceChildren(...(entries.length ? [element("ul", { className: wrong ? "wrong" : "" }, ...entries)] : []));
}

/** The report's markup, with its own behaviour; scripts in it would not run. Beside the answer its ids get a prefix. */
function draw(target, html) {
  const parsed = new DOMParser().parseFromString(html, "text/html");
  if (target !== $("drawing"))
    for (const attribute of ["id", "aria-labelledby"])
      for (const named of parsed.querySelectorAll(`[${attribute}]`)) named.setAttribute(attribute, `more-${named.getAttribute(attribute)}`);
  target.replaceChildren(...parsed.body.childNodes);
  enliven(target); // report.js
}

/** Of a drawing of two answers, what compares them. */
function drawBoth(target, html) {
  const both = new DOMParser().parseFromString(html, "text/html");
  for (const id of ["throughput", "step"]) {
    const mine = target.querySelector(`#${id}`), other = both.getElementById(id);
    if (!other) continue;
    other.querySelector("h2").append(", now and before");
    if (mine) mine.replaceWith(other);
    else target.querySelector(".answer:last-of-type")?.after(other);
    enliven(other);
  }
}

/** Runs one command; gives its answer's text, or "" where it has none. */
function ask(question, target, more = {}) {
  let answered = "", drawn = false;
  const work = run({ beside: state.beside, ...question }, {
    refused: words => complain([{ kind: "error", problem: words }]),
    waiting: () => busy("waiting for others"),
    running: at => busy(`${at.progress} ${at.seconds.toFixed(0)} s`, at.progress),
    messages: list => { if (!more.quiet) complain(list); },
    answer: text => { answered = text; more.answer?.(JSON.parse(text)); },
    drawing: ({ of, html }) => { drawn = true; (of === "now" ? draw(target, html) : drawBoth(target, html)); },
    end: told => more.end?.(told),
  });
  current?.abort();
  current = work;
  const over = () => { if (current === work) { current = null; $("work").hidden = true; } };
  return work.finished.then(() => { over(); return drawn || question.command === "tune" ? answered : ""; }, error => {
    over();
    if (error.name === "AbortError") return null;
    complain(error.messages ?? [{ kind: "error", problem: `the server does not answer (${error.message}); is foretrain serve still running?` }]);
    return "";
  });
}

function busy(text, progress = "") {
  $("work").hidden = false;
  $("done").textContent = text;
  const [done, total] = progress.split(" ")[0].split("/").map(Number);
  if (total) Object.assign($("progress"), { value: done, max: total });
  else $("progress").removeAttribute("value");
}

/** Answers of one sort can be compared: of the same models, along the same settings. */
const sortOf = value => JSON.stringify([(value.jobs ?? []).map?.(job => [job?.name, job?.model]), Object.keys(value.sweep ?? {})]);

const withoutSweep = value => JSON.stringify({ ...value, sweep: undefined, expect: undefined });

async function answer() {
  const mine = ++turn;
  if (state.kind !== "experiment") return offer();
  const begun = performance.now();
  const sort = sortOf(state.value);
  const before = sort === state.sort ? state.held || state.answer : "";
  if (sort !== state.sort) state.last = undefined;
  $("drawing").classList.add("stale");
  let first = 0;
  if (state.value.sweep) { // the job as it stands, at once; then the curve
    const got = await ask({ command: "predict", text: withoutSweep(state.value) }, $("drawing"),
      { quiet: true, answer: answered => { first = performance.now() - begun; compare(answered); } });
    if (got === null || mine !== turn) return;
    if (got) $("drawing").classList.remove("stale");
  }
  const got = await ask({ command: "predict", text: state.text, before: before.length < 4e6 ? before : "" }, $("drawing"),
    { answer: answered => { if (!first) { first = performance.now() - begun; compare(answered); } } });
  if (got === null || mine !== turn) return;
  if (!got) { $("drawing").classList.toggle("stale", true); $("change").textContent = ""; return say("no answer; what is shown is the last one"); }
  $("drawing").classList.remove("stale");
  if (sort !== state.sort) state.held = "";
  Object.assign(state, { answer: got, sort }); // a file without an answer leaves both
  say(`answered in ${first.toFixed(0)} ms, drawn in ${(performance.now() - begun).toFixed(0)} ms`);
  offer();
}

/** What changed in the job as it stands, in a sentence. */
function compare(answered) {
  const job = answered.points?.at(-1)?.jobs?.[0];
  const rate = job?.tokens_per_s ?? job?.throughput_samples_per_s;
  if (!rate) return;
  const last = state.last;
  state.last = { job, rate: rate.median, low: rate.low, high: rate.high, limit: job.bottleneck?.name ?? job.bottleneck?.resource };
  if (!last || last.rate === rate.median) { $("change").textContent = ""; return; }
  const change = 100 * (rate.median / last.rate - 1);
  const apart = rate.low > last.high || rate.high < last.low;
  $("change").textContent = `${change >= 0 ? "+" : ""}${change.toFixed(1)} % against the last answer` +
    (apart ? "" : ", within both intervals") +
    (last.limit !== state.last.limit ? `; limited by ${state.last.limit}, before by ${last.limit}` : "") + ".";
}

// Further questions ---------------------------------------------------------------------------------------

const button = (textContent, onclick, title = "") => element("button", { type: "button", textContent, onclick, title });

function offer() {
  const more = $("more");
  const asks = element("div", { className: "asks" });
  const result = element("div", { className: "result" });
  if (state.kind === "experiment") {
    asks.append(button("What would make it faster?", () => explain(result), "every resource better, every other choice of software"));
    const job = state.value.jobs?.[0] ?? {};
    if (job.sequence || job.global_batch || job.parallel) asks.append(button("Which parallel plan is best?", () => tune(result)));
    asks.append(button("What would it take?", () => goal(result), "the cheapest way to a goal"));
    asks.append(button(state.held ? "Compare with the last answer" : "Hold this answer for comparison", () => {
      state.held = state.held ? "" : state.answer;
      offer();
    }));
  } else {
    asks.append(button(state.kind === "fleet" ? "Simulate the fleet" : "Find the cheapest way", () => longAgain({ command: state.kind, text: state.text })));
  }
  more.replaceChildren(asks, result);
  takeAlong();
}

async function long(question, target, more = {}) {
  busy("begins");
  const got = await ask(question, target, more);
  if (got) { say("done"); if (target === $("drawing")) { state.answer = got; takeAlong(); } }
  return got;
}

/** Of a fleet or a plan: what it has moved by is told first. */
async function longAgain(question) {
  const got = await long(question, $("drawing"));
  if (!got) return;
  const now = JSON.parse(got), moved = against(now, state.before);
  if (moved) $("drawing").prepend(moved);
  state.before = now;
}

async function explain(target) {
  const points = Object.values(state.value.sweep ?? {}).length;
  let tried = null;
  await long({ command: "explain", text: points ? withoutSweep(state.value) : state.text }, target, { answer: got => { tried = got; levers.offer(got.jobs, state.value.better); }, end: () => tried && swaps(tried, target) });
}

/** The other choices that explain has tried, each a button. */
function swaps(got, target) {
  const all = got.jobs.flatMap(job => job.swaps).filter(swap => swap.gain > 0.001).sort((a, b) => b.gain - a.gain);
  const better = all.filter((swap, i) => all.findIndex(it => it.pointer === swap.pointer && it.to === swap.to) === i).slice(0, 8);
  if (!better.length) return;
  target.append(element("div", { className: "asks" }, "Try: ", ...better.map(swap =>
    button(`${swap.to} (${(100 * swap.gain).toFixed(1)} % faster)`,
      () => changed(swap.pointer, swap.to), swap.pointer))));
}

async function tune(target) {
  await long({ command: "tune", text: withoutSweep(state.value), top: 10 }, target, { answer: got => plans(got, target) });
}

/** The best plans of a large model, each a button. */
function plans(got, target) {
  const number = value => Number(value.toPrecision(4)).toLocaleString("en");
  const columns = {
    tensor: plan => plan.parallel.tensor, context: plan => plan.parallel.context, pipeline: plan => plan.parallel.pipeline, virtual: plan => plan.parallel.virtual_stages,
    expert: plan => plan.parallel.expert, "expert tensor": plan => plan.parallel.expert_tensor,
    zero: plan => `${plan.parallel.zero}${plan.parallel.shard === "node" ? " within nodes" : ""}`, micro: plan => `${plan.micro_batch}`, recompute: plan => plan.recompute_layers ? `${plan.recompute_layers} layers` : plan.recompute,
    "tokens/s": plan => `${number(plan.tokens_per_s.median)} (${number(plan.tokens_per_s.low)} to ${number(plan.tokens_per_s.high)})`,
    MFU: plan => `${(100 * plan.mfu).toFixed(1)} %`, memory: plan => `${(plan.device_memory_byte / 1e9).toFixed(1)} GB${plan.fits ? "" : ", does not fit"}`,
    "loses by": plan => plan.loses_by };
  const shown = Object.entries(columns).filter(([, cell]) => got.plans.some(plan => cell(plan) !== 1)); // in 1 part: no plan divides anything that way
  const rows = got.plans.map((plan, i) => element("tr", {}, element("th", { scope: "row" }, button(`Take ${i + 1}`, () => take(plan), "put this plan into the file")),
    ...shown.map(([name, cell]) => { const made = element("td", { textContent: cell(plan) }); made.dataset.label = name; return made; })));
  target.replaceChildren(
    element("p", { className: "note", textContent: `${got.simulated} plans simulated, ${got.do_not_fit} do not fit, ${got.cannot_reach} cannot reach the best. Not tried: ${got.not_tried}.` }),
    element("div", { className: "scroll" }, element("table", { className: "stacking" }, element("thead", {}, element("tr", {}, ...["", ...shown.map(([name]) => name)].map(name => element("th", { scope: "col", textContent: name })))),
      element("tbody", {}, ...rows))));
}

function take(plan) {
  for (const key of ["parallel", "micro_batch"]) set(state.value, `/jobs/0/${key}`, plan[key]);
  set(state.value, "/jobs/0/recompute_layers", plan.recompute_layers);
  changed("/jobs/0/recompute", plan.recompute);
}

/** A plan from the experiment: more GPUs and other networks, at what they cost. */
function goal(target) {
  if (!state.last) return say("there is no answer yet to begin with");
  const form = goalForm(state.value, state.last.job, all.presets.network ?? [], plan => {
    const result = element("div");
    target.replaceChildren(form, result);
    long({ command: "plan", text: JSON.stringify(plan) }, result);
  });
  target.replaceChildren(form);
  form.querySelector("select").focus();
}

// To take along ----------------------------------------------------------------------------------------------

function takeAlong() {
  const name = state.name.replace(/\.(json|ya?ml)$/, "") || "experiment";
  const file = `${name}.${isJson(state.text) ? "json" : "yaml"}`;
  const predicted = state.answer && state.kind === "experiment";
  const show = text => { $("shown").textContent = text; $("shown").hidden = false; };
  const answerAs = (format, end) => told(state.answer, format).then(text => save(`${name}.${end}`, text), error => complain(error.messages));
  $("take").replaceChildren(
    button("Link", () => { show(location.href); navigator.clipboard?.writeText(location.href).catch(() => {}); }, "shows the same page again"),
    button("File", () => save(file, state.text)),
    button("Command line", () => show(commandLine(state, file))),
    button("Python", () => show(pythonOf(state))),
    ...(state.answer ? [button("Answer as JSON", () => save(`${name}-answer.json`, state.answer + "\n"))] : []),
    ...(predicted ? [button("Report", () => answerAs("html", "html")), button("CSV", () => answerAs("csv", "csv")),
                     button("Table", () => told(state.answer, "table").then(show))] : []));
}

// Beginning ---------------------------------------------------------------------------------------------------

function listBundled() {
  const select = $("begin");
  if (all.given.kind) select.add(new Option(all.given.name, "given"));
  for (const [kind, names] of Object.entries(all.bundled)) {
    const group = element("optgroup", { label: { experiment: "experiments", fleet: "fleets", plan: "plans" }[kind] ?? kind });
    group.append(...names.map(name => new Option(name, `${kind}/${name}`)));
    select.append(group);
  }
  select.addEventListener("change", () => choose(select.value));
}

async function choose(word) {
  state.last = undefined;
  if (word === "given" && all.given.kind === "store") return stored();
  if (word === "given") return begin(all.given.kind, all.given.name, all.given.bundled ? all.given.name : "", all.given.text);
  const [kind, name] = word.split("/");
  return begin(kind, name, name, await bundled(kind, name));
}

/** A store of results: shown, not simulated; of several experiments in it the one that is chosen, at first that swept last. */
async function stored(experiment = "") {
  state.kind = "experiment";
  const select = element("select", { onchange: () => stored(select.value) }, ...all.given.experiments.map(name => new Option(name, name)));
  $("form").replaceChildren(element("p", { className: "note", textContent: `${all.given.name}: points that a sweep has kept; nothing is simulated.` }),
    ...(all.given.experiments.length > 1 ? [element("div", { className: "field" }, element("label", {}, "experiment ", select))] : []));
  for (const id of ["drawing", "messages"]) $(id).replaceChildren();
  const got = await long({ command: "stored", experiment }, $("drawing"), { answer: answered => { select.value = answered.experiment; } });
  if (!got) return;
  Object.assign(state, { answer: got, name: all.given.name, value: JSON.parse(got).input ?? {} });
  state.text = JSON.stringify(state.value, null, 2);
  editor.show(state.text);
  takeAlong();
}

$("stop").addEventListener("click", () => current?.stop());
$("form").addEventListener("submit", event => event.preventDefault());
$("version").textContent = `foretrain ${all.version}`;
addEventListener("hashchange", () => { const there = stateOf(location.hash); if (there) begin(there.kind, there.name, there.beside, there.text); });
listBundled();
const there = stateOf(location.hash);
if (there) begin(there.kind, there.name, there.beside, there.text);
else choose(all.given.kind ? "given" : "experiment/c4140-resnet50");

// Forms made of JSON Schemas: a field for each key, in the schema's words.
import { get, set, token } from "./pointer.js";

export const element = (tag, props = {}, ...children) => {
  const made = Object.assign(document.createElement(tag), props);
  made.append(...children);
  return made;
};

const SLIDERS = { batch_per_gpu: [1, 1024], gpus: [1, 64], nodes: [1, 32], micro_batch: [1, 64], tensor: [1, 64], pipeline: [1, 64] };
let numbers = 0;

/** Text of a field as a value: JSON where it is, else the words; empty is none. */
export function parsed(text) {
  if (text.trim() === "") return undefined;
  try { return JSON.parse(text); } catch { return text.trim(); }
}
const shown = value => (value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value));

/** A control for one key. `change(pointer, value)` is told what the reader enters; fields follow `show(value)`. */
class Field {
  constructor(pointer, schema, context, title) {
    this.pointer = pointer;
    const id = `f${++numbers}`;
    this.control = this.make(schema, context.presets);
    Object.assign(this.control, { id, title: schema.description ?? "" });
    this.control.dataset.pointer = pointer;
    this.fault = element("span", { className: "fault", id: `${id}-fault` });
    this.control.setAttribute("aria-describedby", this.fault.id);
    this.node = element("div", { className: "field" },
      element("label", { htmlFor: id, textContent: title, title: schema.description ?? "" }), this.control, this.fault);
    const tell = text => context.change(pointer, this.boolean && text !== "" ? text === "true" : parsed(text));
    this.control.addEventListener(this.control.tagName === "SELECT" ? "change" : "input", () => { this.slide?.(); tell(this.control.value); });
    const range = SLIDERS[pointer.split("/").at(-1)];
    if (range && schema.type === "integer") this.addSlider(range, title, tell);
  }

  make(schema, presets) {
    const words = schema.enum ?? (schema.type === "boolean" ? ["true", "false"] : presets[schema["x-preset"]]);
    this.boolean = schema.type === "boolean";
    const empty = schema.default !== undefined && schema.default !== 0 ? `default: ${schema.default}` : "default";
    if (words) {
      this.words = words;
      return element("select", {}, new Option(empty, ""), ...words.map(word => new Option(word, word)));
    }
    const number = schema.type === "integer" || schema.type === "number";
    const input = element("input", { type: number ? "number" : "text", placeholder: schema.examples?.[0] ?? empty });
    if (number) input.step = schema.type === "integer" ? "1" : "any";
    if (schema.minimum !== undefined) input.min = schema.minimum;
    if (schema.maximum !== undefined) input.max = schema.maximum;
    return input;
  }

  addSlider([low, high], title, tell) { // by powers of two
    const slider = element("input", { type: "range", min: Math.log2(low), max: Math.log2(high), step: 1 });
    slider.setAttribute("aria-label", `${title}, by powers of two`);
    this.slide = () => {
      slider.value = Math.log2(Math.max(low, Number(this.control.value) || low));
      slider.setAttribute("aria-valuetext", this.control.value);
    };
    slider.addEventListener("input", () => {
      this.control.value = 2 ** Number(slider.value);
      slider.setAttribute("aria-valuetext", this.control.value);
      tell(this.control.value);
    });
    this.fault.before(slider);
  }

  show(value) {
    const text = shown(value);
    if (this.words && text && ![...this.control.options].some(option => option.value === text))
      this.control.add(new Option(typeof value === "object" ? "an object of its own" : text, text));
    if (this.control.value !== text && document.activeElement !== this.control) this.control.value = text;
    this.slide?.();
  }

  complain(text) {
    this.fault.textContent = text;
    this.control.setAttribute("aria-invalid", text ? "true" : "false");
  }
}

const GPUS = { "/jobs/0/gpus": [1, 2, 4, 8] };
const STACKS = { "/stack/host": ["bare-metal", "container", "vm-passthrough"], "/stack/network": ["rdma", "tcp", "flannel-vxlan"] };

/** What is varied: pointers and lists of values. */
class Sweep {
  constructor(context) {
    this.context = context;
    this.rows = element("div");
    this.node = element("fieldset", {}, element("legend", { textContent: "Vary" }), this.rows,
      element("button", { type: "button", textContent: "Vary something", onclick: () => this.add() }), " ",
      element("button", { type: "button", textContent: "GPUs", title: "1, 2, 4 and 8 GPUs", onclick: () => this.put(GPUS) }), " ",
      element("button", { type: "button", textContent: "Stacks", title: "host layers x networks", onclick: () => this.put(STACKS) }));
    this.known = element("datalist", { id: "pointers" });
    this.node.append(this.known);
  }

  show(value) {
    if (this.rows.contains(document.activeElement)) return;
    const job = get(value, "/jobs/0") ?? {};
    this.known.replaceChildren(...["gpus", "batch_per_gpu", "precision", "framework", "model", ...Object.keys(job)]
      .filter((key, i, all) => all.indexOf(key) === i).map(key => new Option(`/jobs/0/${key}`)),
      ...["/stack/network", "/stack/host", "/cluster/platform", "/cluster/storage", "/cluster/nodes"].map(p => new Option(p)));
    this.rows.replaceChildren(...Object.entries(value.sweep ?? {}).map(([pointer, values]) => this.row(pointer, values)));
  }

  row(pointer, values) {
    const where = element("input", { value: pointer, spellcheck: false });
    where.setAttribute("list", "pointers");
    where.setAttribute("aria-label", "what is varied, as a pointer");
    const list = element("input", { value: Array.isArray(values) ? values.map(shown).join(", ") : shown(values), spellcheck: false });
    list.setAttribute("aria-label", `values of ${pointer}`);
    const made = element("div", { className: "field" }, where, list);
    made.onchange = () => this.tell();
    return made;
  }

  /** Varies these alone; who wants more adds to them. */
  put(sweep) {
    document.activeElement.blur();
    this.context.change("/sweep", structuredClone(sweep));
  }

  add() {
    this.rows.append(this.row("/jobs/0/gpus", []));
    this.rows.lastChild.firstChild.focus();
  }

  tell() {
    const sweep = {};
    for (const row of this.rows.children) {
      const [where, list] = row.querySelectorAll("input");
      const values = values_of(list.value);
      if (where.value.trim() && values.length) sweep[where.value.trim()] = values;
    }
    this.context.change("/sweep", Object.keys(sweep).length ? sweep : undefined);
  }
  complain() {}
}

function values_of(text) {
  try { return JSON.parse(`[${text}]`); } catch { return text.split(",").map(parsed).filter(value => value !== undefined); }
}

/** All fields of a file. */
export class Form {
  constructor(node, schema, presets, change) {
    this.node = node;
    this.schema = schema;
    this.fields = [];
    this.context = { presets, change };
  }

  /** Draws the fields anew where the file has other jobs, and shows its values. */
  show(value, kind) {
    const jobs = Array.isArray(value.jobs) ? value.jobs.length : 0;
    const parallel = JSON.stringify([kind, jobs, this.schema.title]);
    if (parallel !== this.drawn || this.node.firstChild !== this.first) { // forms of other kinds take the same place
      this.drawn = parallel;
      this.fields = [];
      this.node.replaceChildren(...this.parts(kind, jobs));
      this.first = this.node.firstChild;
    }
    for (const field of this.fields) field.show(field instanceof Sweep ? value : get(value, field.pointer));
  }

  parts(kind, jobs) {
    if (kind !== "experiment") return [this.group("", this.schema, kind === "fleet" ? "The fleet" : "The plan", [])];
    const p = this.schema.properties;
    const parts = [this.group("/cluster", p.cluster, "Cluster", ["platform", "nodes", "storage"]),
                   this.group("/stack", p.stack, "Software between", ["host", "network"])];
    for (let i = 0; i < jobs; ++i) parts.push(this.job(i, p.jobs.items, jobs));
    parts.push(element("button", { type: "button", textContent: "Add a neighbour", id: "neighbour",
      title: "another job on the same machine", onclick: () => this.context.change(`/jobs/${jobs}`, "copy") }));
    const sweep = new Sweep(this.context);
    this.fields.push(sweep);
    parts.push(sweep.node);
    return parts;
  }

  job(i, schema, jobs) {
    const group = this.group(`/jobs/${i}`, schema, i === 0 ? "Job" : `Neighbour ${i}`,
      ["model", "framework", "precision", "batch_per_gpu", "gpus", "input"]);
    if (jobs > 1)
      group.append(element("button", { type: "button", textContent: i === 0 ? "Remove this job" : "Remove this neighbour",
        onclick: () => this.context.change(`/jobs/${i}`, undefined) }));
    return group;
  }

  /** A fieldset: the keys named first, the others folded. No keys: all of them. */
  group(pointer, schema, title, first) {
    const keys = Object.keys(schema.properties ?? {}).filter(key => !["format", "source", "notes", "sweep", "expect", "extends"].includes(key));
    const open = first.length ? first : keys;
    const made = element("fieldset", {}, element("legend", { textContent: title }));
    for (const key of open) made.append(this.entry(`${pointer}/${token(key)}`, schema.properties[key], key));
    const rest = keys.filter(key => !open.includes(key) && !(pointer === "" && key === "jobs"));
    if (rest.length) {
      const more = element("details", {}, element("summary", { textContent: "More" }));
      for (const key of rest) more.append(this.entry(`${pointer}/${token(key)}`, schema.properties[key], key));
      made.append(more);
    }
    return made;
  }

  entry(pointer, schema, key) {
    if (schema.type === "object" && schema.properties && !schema["x-preset"]) {
      const made = element("details", {}, element("summary", { textContent: key, title: schema.description ?? "" }));
      for (const [name, inner] of Object.entries(schema.properties))
        if (!["source", "notes"].includes(name)) made.append(this.entry(`${pointer}/${token(name)}`, inner, name));
      return made;
    }
    const field = new Field(pointer, schema, this.context, key.replaceAll("_", " "));
    this.fields.push(field);
    return field.node;
  }

  /** Puts messages beside the fields that they are about. */
  complain(messages) {
    for (const field of this.fields)
      field.complain(messages.find(message => field.pointer && message.pointer === field.pointer)?.problem ?? "");
  }
}

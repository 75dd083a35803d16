// The file as text: line numbers that mark mistakes, and what may stand at the caret.
import { element } from "./form.js";
import { get, isJson, placeOf, schemaAt } from "./pointer.js";

export class Editor {
  /** `change(text)` is told what is written. */
  constructor(text, lines, here, change) {
    Object.assign(this, { text, lines, here, change, schema: null, presets: {}, value: {}, bad: new Map() });
    text.addEventListener("input", () => { this.number(); change(text.value); this.help(); });
    text.addEventListener("scroll", () => { lines.scrollTop = text.scrollTop; });
    for (const event of ["keyup", "click", "focus"]) text.addEventListener(event, () => this.help());
  }

  show(text) {
    if (this.text.value !== text) this.text.value = text;
    this.number();
  }

  /** Marks the lines of messages. */
  mark(messages) {
    this.bad = new Map(messages.filter(m => m.line && m.file === "standard input").map(m => [m.line, m.problem]));
    this.number();
  }

  number() {
    const count = this.text.value.split("\n").length;
    this.lines.replaceChildren();
    for (let line = 1; line <= count; ++line)
      this.lines.append(element("span", { textContent: line, className: this.bad.has(line) ? "bad" : "", title: this.bad.get(line) ?? "" }), "\n");
    const height = `${Math.min(30, Math.max(8, count + 1)) * 1.4 * 13 + 16}px`;
    this.text.style.height = this.lines.style.height = height;
    this.lines.scrollTop = this.text.scrollTop;
  }

  /** Puts the caret where a message is about. */
  go(line, column) {
    const before = this.text.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    this.text.focus();
    this.text.setSelectionRange(before + Math.max(0, column - 1), before + Math.max(0, column - 1));
    this.text.scrollTop = Math.max(0, (line - 8) * parseFloat(getComputedStyle(this.text).lineHeight));
    this.help();
  }

  /** The schema's words for where the caret is, and what may be written there. */
  help() {
    this.here.replaceChildren();
    const at = this.schema && placeOf(this.text.value, this.text.selectionStart);
    const schema = at && schemaAt(this.schema, at.pointer);
    if (!schema) return;
    const properties = at.isKey || at.either ? schema.properties : null;
    const words = properties ? Object.keys(properties).filter(key => !(key in (get(this.value, at.pointer) ?? {})) || key === at.begun)
                             : schema.enum ?? this.presets[schema["x-preset"]] ?? [];
    const fitting = words.filter(word => word.startsWith(at.begun) && word !== at.begun).slice(0, 24);
    this.here.append(element("code", { textContent: at.pointer || "/" }), ` ${schema.description ?? ""} `, element("br"),
      ...fitting.map(word => element("button", { type: "button", textContent: word, title: properties?.[word]?.description ?? "",
        onclick: () => this.insert(at, this.written(word) + (properties ? ": " : "")) })));
  }

  /** A name as the text's language writes it; what YAML would take for another value is quoted there too. */
  written(word) {
    const plain = /^[a-z][\w./-]*$/i.test(word) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(word);
    return plain && !isJson(this.text.value) ? word : JSON.stringify(word);
  }

  insert(at, word) {
    const text = this.text.value;
    const colon = /^\s*:/.test(text.slice(at.to)) ? word.replace(/: $/, "") : word;
    this.text.focus();
    this.text.setRangeText(colon, at.from, at.to, "end");
    this.text.dispatchEvent(new Event("input"));
  }
}

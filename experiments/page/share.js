// What can be taken along: the link, the file, the answer in all its forms, and the same question elsewhere.
import { element } from "./form.js";

const encode = text => btoa(String.fromCharCode(...new TextEncoder().encode(text))).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
const decode = text => new TextDecoder().decode(Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), c => c.charCodeAt(0)));

/** The page as what follows # in its link. */
export const fragmentOf = state => "#" + encode(JSON.stringify([state.kind, state.name, state.beside, state.text]));

/** The page that a fragment tells; null where it tells none. */
export function stateOf(fragment) {
  try {
    const [kind, name, beside, text] = JSON.parse(decode(fragment.slice(1)));
    const right = ["experiment", "plan", "fleet"].includes(kind) && [name, beside, text].every(entry => typeof entry === "string");
    return right ? { kind, name, beside, text } : null;
  } catch {
    return null;
  }
}

const COMMANDS = { experiment: "predict", plan: "plan", fleet: "fleet" };
const quoted = word => (/^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** The command that prints what is shown, of the file that holds it. */
export const commandLine = (state, file) => `foretrain ${COMMANDS[state.kind]} ${quoted(file)}`;

function python(value, indent = "") {
  const deeper = indent + "    ";
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(entry => python(entry, indent)).join(", ")}]`;
  if (typeof value === "object")
    return `{\n${Object.entries(value).map(([key, entry]) => `${deeper}${JSON.stringify(key)}: ${python(entry, deeper)},\n`).join("")}${indent}}`;
  return JSON.stringify(value);
}

/** The same in Python. */
export const pythonOf = state => `import foretrain as ft\n\nanswer = ft.${COMMANDS[state.kind]}(${python(state.value)})\nprint(answer)\n`;

export function save(name, text, type = "text/plain") {
  const link = element("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// JSON pointers: reading, writing, and where a caret stands in a text.
export const token = key => String(key).replaceAll("~", "~0").replaceAll("/", "~1");
export const steps = pointer => pointer.split("/").slice(1).map(s => s.replaceAll("~1", "/").replaceAll("~0", "~"));

export function get(value, pointer) {
  return steps(pointer).reduce((at, step) => (at === null || typeof at !== "object" ? undefined : at[step]), value);
}

/** Writes a value; undefined removes it, and objects that are empty then, but for jobs. */
export function set(value, pointer, entry) {
  const path = steps(pointer);
  const trail = [value];
  for (const [i, step] of path.slice(0, -1).entries()) {
    const at = trail[i];
    if (at[step] === null || typeof at[step] !== "object") {
      if (entry === undefined) return;
      at[step] = {};
    }
    trail.push(at[step]);
  }
  const last = path.at(-1);
  if (entry !== undefined) trail.at(-1)[last] = entry;
  else if (Array.isArray(trail.at(-1))) trail.at(-1).splice(Number(last), 1);
  else {
    delete trail.at(-1)[last];
    for (let i = path.length - 2; i >= 0 && !Array.isArray(trail[i + 1]) && !Object.keys(trail[i + 1]).length; --i) {
      if (Array.isArray(trail[i])) break;
      delete trail[i][path[i]];
    }
  }
}

/** The schema of what stands at a pointer; undefined where it says nothing. */
export function schemaAt(schema, pointer) {
  return steps(pointer).reduce((at, step) => {
    if (!at) return undefined;
    if (at.items && /^\d+$/.test(step)) return at.items;
    return at.properties?.[step] ?? (typeof at.additionalProperties === "object" ? at.additionalProperties : undefined);
  }, schema);
}

/** Where the caret stands in JSON: the pointer of the object or value, whether a key is written there, and the word begun. */
export function placeOf(text, caret) {
  const stack = []; // { list, index, key }
  let key = null, expectKey = false, i = 0;
  while (i < caret) {
    const c = text[i];
    if (c === "/" && (text[i + 1] === "/" || text[i + 1] === "*")) {
      const end = text[i + 1] === "/" ? text.indexOf("\n", i) : text.indexOf("*/", i) + 2;
      i = end <= i ? text.length : end;
    } else if (c === '"') {
      let end = i + 1;
      while (end < text.length && text[end] !== '"' && text[end] !== "\n") end += text[end] === "\\" ? 2 : 1;
      if (end >= caret) return place(stack, key, expectKey, i, text[end] === '"' ? end + 1 : end, text.slice(i + 1, caret));
      if (expectKey) { key = text.slice(i + 1, end); expectKey = false; }
      i = end + 1;
    } else {
      if (c === "{" || c === "[") { stack.push({ list: c === "[", index: 0, key }); key = null; expectKey = c === "{"; }
      if (c === "}" || c === "]") { key = stack.pop()?.key ?? null; expectKey = false; }
      if (c === ",") { const top = stack.at(-1); if (top?.list) ++top.index; else { key = null; expectKey = true; } }
      ++i;
    }
  }
  return place(stack, key, expectKey, caret, caret, "");
}

function place(stack, key, isKey, from, to, begun) {
  let pointer = "";
  stack.forEach((level, depth) => { // the key of a level stands in the one around it
    if (depth > 0) pointer += "/" + (stack[depth - 1].list ? stack[depth - 1].index : token(level.key ?? ""));
  });
  const top = stack.at(-1);
  if (top && !isKey) pointer += top.list ? "/" + top.index : key === null ? "" : "/" + token(key);
  return { pointer, isKey, from, to, begun };
}

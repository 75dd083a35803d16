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

/** Whether a text is JSON with comments; what is not is read as YAML. */
export const isJson = text => /^\s*(\/[/*]|\{)/.test(text);

/**
 * Where the caret stands: the pointer of the object or value, whether a key is written there (`either`: a key or a value),
 * the word begun and its ends. Null in comments and in texts that YAML goes on with below their key.
 */
export const placeOf = (text, caret) => (isJson(text) ? bracketed(text, 0, caret, []).place : placeInLines(text, caret));

/** Reads JSON, or brackets of YAML, from i on: the caret's `place`, or where they are over. Levels are { list, index, key }. */
function bracketed(text, i, caret, around) {
  const levels = [];
  let opened = false;
  while (i < caret && !(opened && !levels.length)) {
    const c = text[i], top = levels.at(-1);
    const comment = matchAt(/(?:\/\/|#)[^\n]*|\/\*[^]*?(?:\*\/|$)/y, text, i);
    if (comment) {
      i += comment[0].length;
      if (i >= caret) return { place: null };
    } else if (c === "{" || c === "[") {
      levels.push({ list: c === "[", index: 0, key: null });
      opened = true;
      ++i;
    } else if (c === "}" || c === "]") {
      levels.pop();
      ++i;
    } else if (c === ",") {
      if (top?.list) ++top.index;
      else if (top) top.key = null;
      ++i;
    } else if (c === ":" || /\s/.test(c)) ++i;
    else {
      const { word, end } = wordAt(text, i);
      if (end >= caret) return { place: place([...around, ...levels], i, end, begunAt(text, i, caret)) };
      if (top && !top.list && top.key === null) top.key = word;
      i = end;
    }
  }
  return opened && !levels.length ? { over: i } : { place: place([...around, ...levels], caret, caret, "") };
}

/** A word in brackets: in quotes to the second one or the line's end, else to a comma, bracket, comment or colon. */
function wordAt(text, i) {
  const found = matchAt(/"((?:[^"\\\n]|\\.)*)"?|'([^'\n]*)'?|((?:[^\s,{}[\]:#]|:(?=[^\s])|[ \t]+(?=[^\s,{}[\]:#])|(?<=\S)#)+)/y, text, i) ?? [text[i], text[i]];
  return { word: found[1] ?? found[2] ?? found[3], end: i + found[0].length };
}
function matchAt(sticky, text, i) {
  sticky.lastIndex = i;
  return sticky.exec(text);
}
const begunAt = (text, from, caret) => text.slice(from, caret).replace(/^["']/, "");

/** The caret's place in YAML: lines say by their column what they stand in. */
function placeInLines(text, caret) {
  const levels = []; // { column, list, index, key }
  const leave = column => { // a list may stand at the column of the key that it belongs to
    while (levels.length && (levels.at(-1).column > column || (levels.at(-1).list && levels.at(-1).column === column))) levels.pop();
  };
  let folded = -1; // column of a key whose text stands in the lines below
  for (let start = 0; start <= caret;) {
    const end = (text.indexOf("\n", start) + 1 || text.length + 1) - 1;
    const here = caret <= end;
    const line = text.slice(start, here ? caret : end);
    let column = line.search(/\S|$/), dash = false;
    const next = end + 1;
    const empty = column === line.length;
    if ((empty && !here) || /^(---|\.\.\.|%)/.test(line)) { start = next; continue; }
    if (folded >= 0 && column > folded) {
      if (here) return null;
      start = next;
      continue;
    }
    folded = -1;
    for (; /^-(\s|$)/.test(line.slice(column)); dash = true) {
      while (levels.length && levels.at(-1).column > column) levels.pop();
      const top = levels.at(-1);
      if (top?.list && top.column === column) ++top.index;
      else levels.push({ column, list: true, index: 0 });
      column += 1 + line.slice(column + 1).search(/\S|$/);
    }
    const key = /^(?:"([^"]*)"|'([^']*)'|([^\s"'{}[\],#|>][^#]*?))\s*:(?:\s+|$)/.exec(line.slice(column));
    if (here && /(^|\s)#/.test(line.slice(column))) return null;
    if (key) {
      leave(column);
      if (levels.at(-1)?.column !== column) levels.push({ column, list: false });
      levels.at(-1).key = key[1] ?? key[2] ?? key[3];
      if (/^[|>]/.test(line.slice(column + key[0].length))) folded = column;
    }
    const from = column + (key?.[0].length ?? 0);
    if (/^[{[]/.test(line.slice(from))) {
      const inner = bracketed(text, start + from, caret, levels);
      if (!inner.over) return inner.place;
      start = (text.indexOf("\n", inner.over) + 1 || text.length + 1);
      continue;
    }
    if (!here) { start = next; continue; }
    if (folded >= 0 || (key && !/\s$/.test(key[0]))) return null; // the colon needs its space first
    const to = start + from + matchAt(/[^\s:#]*/y, text, start + from)[0].length;
    const begun = begunAt(text, start + from, caret);
    if (key || dash) return { ...place(levels, start + from, Math.max(to, caret), begun), isKey: false, either: !key };
    leave(column);
    const top = levels.at(-1);
    if (top?.column === column) top.key = null; // beside the keys of the same column
    const at = place(levels, start + from, Math.max(to, caret), begun);
    return { ...at, isKey: at.isKey || !top, either: Boolean(top) && top.column < column };
  }
  return null;
}

/** In an object whose key is not known yet, a key is written. */
function place(levels, from, to, begun) {
  const top = levels.at(-1);
  const isKey = Boolean(top) && !top.list && top.key === null;
  const named = isKey ? levels.slice(0, -1) : levels;
  return { pointer: named.map(level => "/" + (level.list ? level.index : token(level.key ?? ""))).join(""), isKey, from, to, begun };
}

// Questions to the server: everything is below the token in the page's own address.
export const page = crypto.getRandomValues(new Uint32Array(4)).reduce((text, n) => text + n.toString(36), "");
let runs = 0;

/** Posts JSON; gives the response, or throws an Error with the server's words. */
async function post(name, body, signal) {
  const response = await fetch(name, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal,
  });
  if (response.ok) return response;
  const text = await response.text();
  let messages = [{ kind: "error", problem: text.trim() }];
  try { messages = JSON.parse(text).messages; } catch { /* words, no JSON */ }
  throw Object.assign(new Error(messages.map(m => m.problem).join("; ")), { messages });
}

/** What the forms are made of. */
export const catalogue = async () => (await fetch("catalogue")).json();

/** Text of a bundled file. */
export async function bundled(kind, name) {
  const response = await fetch(`bundled?kind=${encodeURIComponent(kind)}&name=${encodeURIComponent(name)}`);
  if (!response.ok) throw new Error(await response.text());
  return response.text();
}

/** The value of a text, or its messages. */
export const read = async text => (await post("read", { text })).json();

/** An answer as csv, table or html. */
export const told = async (answer, format) => (await post("tell", { answer, format, page })).text();

/**
 * Runs a command. `on` has functions by the keys of the server's lines: waiting, running, messages, answer (its text,
 * to the digit), drawing, end, refused. Aborting ends the command.
 */
export function run(question, on) {
  const control = new AbortController();
  const name = `r${++runs}`;
  const finished = (async () => {
    const response = await post("run", { ...question, page, run: name }, control.signal);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) tell(line, on);
    }
  })();
  return { finished, abort: () => control.abort(), stop: () => post("stop", { page, run: name }) };
}

const ANSWER = '{"answer": ';

function tell(line, on) {
  if (!line) return;
  if (line.startsWith(ANSWER)) return on.answer?.(line.slice(ANSWER.length, -1).trim());
  const [[key, value]] = Object.entries(JSON.parse(line));
  on[key]?.(value);
}

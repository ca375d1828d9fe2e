// The gateway's routes, asked with the key of this tab.

const KEY = "tamis.key"; // in sessionStorage: docs/security.md says why

export const key = {
  get: () => sessionStorage.getItem(KEY),
  set: (value) => sessionStorage.setItem(KEY, value),
  forget: () => sessionStorage.removeItem(KEY),
};

export const AWAY = "The gateway does not answer.";

// What the gateway refused, or that it does not answer, in words for people.
export class Problem extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

const headed = (headers) => ({ ...headers, Authorization: `Bearer ${key.get()}` });

// The name of a form's file that the browser cannot read any more: it sends none of the form then.
const unreadable = async (body) => {
  for (const file of body instanceof FormData ? body.getAll("file") : []) {
    try {
      await file.stream().getReader().read();
    } catch {
      return file.name;
    }
  }
  return null;
};

export const ask = async (path, { method = "GET", json, body, headers = {}, keepalive = false } = {}) => {
  const sent = json === undefined ? { body } : { body: JSON.stringify(json) };
  const typed = json === undefined ? headers : { ...headers, "Content-Type": "application/json" };
  const answer = await fetch(path, { method, headers: headed(typed), cache: "no-store", keepalive, ...sent }).catch(async () => {
    const gone = await unreadable(body);
    throw gone ? new Problem(422, `${gone} was changed, moved or deleted after it was chosen: choose it again.`) : new Problem(503, `${AWAY} Try again in a moment.`);
  });
  if (answer.ok) return answer;
  if (answer.status === 401) throw new Problem(401, "This key is not valid here: it is mistyped or revoked.");
  const said = await answer.json().catch(() => ({}));
  throw new Problem(answer.status, said.detail?.replace(/^terms: /, "") || `The gateway answered with status ${answer.status}.`);
};

// An XML document; the one way to have one without making it from text, which the page's policy forbids.
export const askDocument = (path) =>
  new Promise((resolve, reject) => {
    const asked = new XMLHttpRequest();
    asked.open("GET", path);
    asked.setRequestHeader("Authorization", `Bearer ${key.get()}`);
    asked.responseType = "document";
    asked.onload = () => (asked.status === 200 && asked.response ? resolve(asked.response) : reject(new Problem(asked.status, `The gateway answered with status ${asked.status}.`)));
    asked.onerror = () => reject(new Problem(503, `${AWAY} Try again in a moment.`));
    asked.send();
  });

// Server-sent events: EventSource cannot send the key.
async function* events(path) {
  const answer = await ask(path, { headers: { Accept: "text/event-stream" } });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (text + value).split("\n\n");
    text = parts.pop();
    for (const part of parts) {
      const event = { kind: "message", data: "" };
      for (const line of part.split("\n")) {
        if (line.startsWith("event: ")) event.kind = line.slice(7);
        if (line.startsWith("data: ")) event.data += line.slice(6);
      }
      if (event.data) yield { kind: event.kind, data: JSON.parse(event.data) };
    }
  }
}

const FIRST_WAIT = 1000; // ms
const LONGEST_WAIT = 15000; // ms

// Tells every event until one is called `end`; begins again where the stream breaks off. `lost(true)` says that the
// gateway is away, `lost(false)` that it is back.
export const follow = async (path, tell, lost) => {
  let wait = FIRST_WAIT;
  let away = false;
  const be = (now) => {
    if (away !== now) lost(now);
    away = now;
  };
  for (;;) {
    const stream = events(path);
    for (;;) {
      const next = await stream.next().catch((error) => {
        if (error instanceof Problem && error.status < 500) throw error;
        be(true);
        return { done: true };
      });
      if (next.done) break;
      be(false);
      wait = FIRST_WAIT;
      tell(next.value);
      if (next.value.kind === "end") return;
    }
    await new Promise((resume) => setTimeout(resume, wait));
    wait = Math.min(2 * wait, LONGEST_WAIT);
  }
};

// Saves what a route answers under a name, or under the one that it answers with, and says which. The key stays out of
// the address, so it is fetched first.
export const download = async (path, given = null, how = {}) => {
  const answer = await ask(path, how);
  const name = given ?? answer.headers.get("Content-Disposition").match(/filename="([^"]+)"/)[1];
  const blob = await answer.blob();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  return name;
};

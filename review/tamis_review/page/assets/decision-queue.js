// What a person decided, on its way to the ledger: kept in this browser until the gateway has answered, sent one after
// the other from every view. An entry is kept under a name of its own, so two tabs do not write over each other; sent
// by both of them it counts once, because decisions and withdrawals have ids, and labels and notes are the same said twice.
import { AWAY, Problem } from "./api.js";
import { newId, send } from "./decision-sending.js";

const PREFIX = "tamis.waiting."; // in localStorage
const FIRST_WAIT = 1000; // ms
const LONGEST_WAIT = 60000; // ms
const MUTE = 30000; // ms after which a gateway that says nothing is away
const PASSING = new Set([408, 425, 429]); // refusals that end by themselves
const NO_KEY = 401; // what is behind it would be refused as well

const unkept = new Map(); // where the browser keeps nothing, until the tab is closed
const listeners = new Set();
let person = null; // who is signed in: what others decided is not sent
let [sending, problem, wait, timer, last] = [false, null, FIRST_WAIT, undefined, 0];

const silence = () => new Promise((_, refuse) => setTimeout(() => refuse(new Problem(503, AWAY)), MUTE));

// Every entry that the browser keeps, of whoever decided it.
export const keptEntries = () =>
  Object.keys(localStorage).filter((name) => name.startsWith(PREFIX)).map((name) => JSON.parse(localStorage.getItem(name))).filter((entry) => entry?.person);

const all = () => [...keptEntries().filter((entry) => entry.person === person), ...unkept.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
const put = (entry) => {
  try {
    localStorage.setItem(PREFIX + entry.id, JSON.stringify(entry));
  } catch {
    unkept.set(entry.id, entry);
  }
};
const take = (id) => {
  unkept.delete(id);
  localStorage.removeItem(PREFIX + id);
};
// Other tabs hear that it was not sent.
const discard = (entry) => {
  put({ ...entry, dropped: true });
  take(entry.id);
};
const tell = (entry) => listeners.forEach((told) => told(entry));

const drain = async () => {
  for (let entry; (entry = all().find(({ refused }) => !refused)); ) {
    try {
      const answer = await Promise.race([send(entry), silence()]);
      take(entry.id);
      [problem, wait] = [null, FIRST_WAIT];
      tell({ ...entry, sent: true, answer });
    } catch (error) {
      if (!(error.status < 500) || error.status === NO_KEY || PASSING.has(error.status)) {
        problem = { text: error.message.startsWith(AWAY) ? AWAY : error.message, signedOut: error.status === NO_KEY };
        if (!problem.signedOut) timer = setTimeout(run, wait);
        wait = Math.min(2 * wait, LONGEST_WAIT);
        break;
      }
      problem = null;
      const refused = { ...entry, refused: error.message };
      put(refused);
      tell(refused);
    }
  }
  sending = false; // and nothing is awaited between the last look and this: what is added later begins anew
  tell();
};
// One tab sends at a time, where the browser can say which.
const alone = (work) => (navigator.locks ? navigator.locks.request(PREFIX + person, work) : work());
const run = () => {
  clearTimeout(timer);
  if (sending) return;
  sending = true;
  alone(drain);
};

export const queue = {
  // Sends what this person decided, from now on.
  begin: (name) => {
    person = name;
    addEventListener("online", run);
    document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && run());
    addEventListener("storage", ({ key, oldValue, newValue }) => {
      const entry = key?.startsWith(PREFIX) && JSON.parse(newValue ?? oldValue);
      if (entry?.person === person) tell(newValue === null ? { ...entry, sent: !entry.dropped } : entry);
    });
    tell();
    run();
  },
  // `problem`: { text, signedOut }, why nothing is sent; null where nothing is known to be wrong.
  state: () => ({ person, waiting: all().filter(({ refused }) => !refused), refused: all().filter(({ refused }) => refused), problem, kept: !unkept.size }),
  of: (batch) => all().filter((entry) => entry.batch === batch),
  // `told(entry)` hears of every change: of an entry that is `sent` (with its `answer`, where this tab sent it), `refused` or `dropped`.
  watch: (told) => {
    listeners.add(told);
    return () => listeners.delete(told);
  },
  // Forgets of a map what is on its way no longer: the gateway knows it, and may know something newer of another tab's.
  forgetSent: (batch, said, keyOf) => {
    const here = new Set(queue.of(batch).map(keyOf));
    for (const key of said.keys()) if (!here.has(key)) said.delete(key);
  },
  send: run,
  // { kind: "decide" | "withdraw" | "remark" | "audit", index, body, stage, audit, mine, before, said }
  add: (batch, said) => {
    last = Math.max(Date.now(), last + 1);
    const entry = { ...said, person, batch, id: `${last}-${batch}-${said.index}`, decision: newId() };
    put(entry);
    tell();
    run();
    return entry.id;
  },
  retry: () => {
    for (const { refused, ...entry } of queue.state().refused) put(entry);
    tell();
    run();
  },
  drop: (entry) => {
    discard(entry);
    tell({ ...entry, dropped: true });
    run();
  },
  // Drops a refused entry of the view that undoes it; false where it was not refused.
  dropRefused: (id) => {
    const entry = all().find((one) => one.id === id && one.refused);
    if (entry) discard(entry);
    tell();
    return Boolean(entry);
  },
};

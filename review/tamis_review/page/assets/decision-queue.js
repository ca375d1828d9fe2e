// What a person decided, on its way to the ledger: kept in this browser until the gateway has answered, sent one after
// the other. An entry is kept under a name of its own, so two tabs do not write over each other; sent by both of them
// it counts once, because a decision has its id, and labels, notes and withdrawals are the same said twice.

const FIRST_WAIT = 1000; // ms
const LONGEST_WAIT = 60000; // ms
const MUTE = 30000; // ms after which a gateway that says nothing is away
const PASSING = new Set([408, 425, 429]); // refusals that end by themselves
const NO_KEY = 401; // what is behind it would be refused as well

const silence = () => new Promise((_, refuse) => setTimeout(() => refuse(new Error("The gateway does not answer.")), MUTE));

// `owner` is the id of the key, never the key. `send(entry)` posts one and throws a Problem where it is refused;
// `told(state)` hears of every change: { waiting: [entries], refused: [entries], away, kept }.
export const decisionQueue = ({ owner, batch, send, told }) => {
  const prefix = `tamis.waiting.${owner}.${batch}.`;
  const unkept = new Map(); // where the browser keeps nothing, until the tab is closed
  let [sending, away, wait, timer, last] = [false, false, FIRST_WAIT, undefined, 0];

  const all = () => {
    const kept = Object.keys(localStorage).filter((name) => name.startsWith(prefix)).map((name) => JSON.parse(localStorage.getItem(name)));
    return [...kept, ...unkept.values()].filter(Boolean).sort((a, b) => (a.id < b.id ? -1 : 1));
  };
  const put = (entry) => {
    try {
      localStorage.setItem(prefix + entry.id, JSON.stringify(entry));
    } catch {
      unkept.set(entry.id, entry);
    }
  };
  const take = (id) => {
    unkept.delete(id);
    localStorage.removeItem(prefix + id);
  };
  const state = () => {
    const entries = all();
    return { waiting: entries.filter((one) => !one.refused), refused: entries.filter((one) => one.refused), away, kept: !unkept.size };
  };
  const tell = () => told(state());
  // Forgets of a map what is on its way no longer: the gateway knows it, and may know something newer of another tab's.
  const forgetSent = (said, keyOf) => {
    const here = new Set(all().map(keyOf));
    for (const key of said.keys()) if (!here.has(key)) said.delete(key);
  };

  // One tab sends at a time, where the browser can say which.
  const alone = (work) => (navigator.locks ? navigator.locks.request(prefix, work) : work());

  const drain = async () => {
    for (let entry; (entry = all().find((one) => !one.refused)); tell()) {
      try {
        await Promise.race([send(entry), silence()]);
        take(entry.id);
        [away, wait] = [false, FIRST_WAIT];
      } catch (error) {
        if (!(error.status < 500) || PASSING.has(error.status)) {
          away = true;
          timer = setTimeout(run, wait);
          wait = Math.min(2 * wait, LONGEST_WAIT);
          break;
        }
        away = false;
        put({ ...entry, refused: error.message });
        if (error.status === NO_KEY) break;
      }
    }
    sending = false; // and nothing is awaited between the last look and this: what is added later begins anew
    tell();
  };
  const run = () => {
    clearTimeout(timer);
    if (sending) return;
    sending = true;
    alone(drain);
  };

  addEventListener("online", run);
  addEventListener("storage", (event) => event.key?.startsWith(prefix) && tell());

  return {
    state,
    forgetSent,
    send: run,
    add: (said) => {
      last = Math.max(Date.now(), last + 1);
      const entry = { ...said, id: `${last}-${said.index}` };
      put(entry);
      tell();
      run();
      return entry.id;
    },
    retry: () => {
      for (const { refused, ...entry } of state().refused) put(entry);
      tell();
      run();
    },
    drop: (id) => {
      take(id);
      tell();
      run();
    },
  };
};

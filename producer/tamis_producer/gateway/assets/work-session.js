// The work of one person on one batch: loads records ahead, and hands decisions to the queue.
import { ask, Problem } from "/assets/api.js";
import { decisionQueue } from "/assets/decision-queue.js";
import { begun, current, filtersOf, queryOf, reduce, sayable, sayingOf, wordOf } from "/assets/work-state.js";

const PAGE = 50;
const AHEAD = 20; // records that are still to come when more are asked for

// As UUIDs of version 4 are made: randomUUID is for secure addresses alone, and a gateway may stand in a house's network.
const newId = () => {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
};

const post = (path, json) => ask(path, { method: "POST", json });

export const workSession = ({ id, me, owner, changed }) => {
  const batch = `/v1/batches/${encodeURIComponent(id)}`;
  const mine = new Map(); // by index, what was decided here: the gateway may not have it yet
  let state = begun(filtersOf(location.search));
  let asked = 0; // a page that was asked for before the filters changed is no longer wanted

  const tell = (action) => {
    state = reduce(state, action);
    changed();
    if (state.next && !state.loading && !state.problem && state.records.length - state.place < AHEAD) load();
  };

  const send = async ({ kind, index, body }) => {
    const item = `${batch}/items/${index}`;
    if (kind === "remark") return post(`${item}/remarks`, body);
    if (kind === "decide") return post(`${item}/override`, body);
    return ask(`${item}/override`, { method: "DELETE" }).catch(async (error) => {
      if (!(error instanceof Problem) || error.status !== 422) throw error;
      const standing = await (await ask(`${batch}/overrides`)).json();
      if (standing.some((one) => one.index === index && one.reviewer === me && one.stage === "own")) throw error;
    }); // else it is withdrawn already, and the answer was lost
  };
  const queue = decisionQueue({ owner, batch: id, send, told: () => changed() });
  for (const { kind, index, mine: said } of queue.state().waiting) if (kind !== "remark") mine.set(index, said);

  const load = async ({ first = false } = {}) => {
    asked += 1;
    const number = asked;
    tell({ kind: "loading" });
    const query = queryOf(state.filters);
    query.set("limit", PAGE);
    if (!first && state.next) query.set("after", state.next);
    try {
      const page = await (await ask(`${batch}/work?${query}`)).json();
      if (number !== asked) return;
      page.records = page.records.map((record) => (mine.has(record.index) ? { ...record, mine: mine.get(record.index) } : record));
      tell({ kind: "loaded", page, first });
      document.documentElement.dataset.ready = "true";
    } catch (error) {
      if (number === asked) tell({ kind: "failed", problem: error.message });
    }
  };

  const keep = (record, said) => {
    mine.set(record.index, said.mine);
    return queue.add({ ...said, index: record.index, number: record.number });
  };
  const deciding = (record, decision) => {
    const body = { value: decision.value, decision_id: newId(), ...(decision.reason && { reason: decision.reason }), ...(decision.note && { note: decision.note }) };
    return keep(record, { kind: "decide", body, mine: decision, before: record.mine, said: sayingOf(state.facts, wordOf(state.facts, decision)) });
  };

  return {
    get state() { return state; },
    queue,
    load,
    tell,
    decide: (word, reason = null) => {
      const record = current(state);
      if (!record || !sayable(state.facts, word)) return;
      const decision = { value: state.facts.values[word], reason, note: null, at: new Date().toISOString() };
      const entry = deciding(record, decision);
      tell({ kind: "decided", index: record.index, mine: decision, id: entry, said: `Record ${record.number}: ${sayingOf(state.facts, word)}${reason ? `, ${reason}` : ""}.` });
    },
    undo: () => {
      const last = state.history.at(-1);
      if (!last) return tell({ kind: "told", said: "There is nothing to take back." });
      const record = { index: last.index, number: last.index + 1, mine: mine.get(last.index) };
      if (queue.state().refused.some((one) => one.id === last.id)) queue.drop(last.id);
      else if (last.before) deciding(record, last.before);
      else keep(record, { kind: "withdraw", mine: null, said: "withdrawn" });
      mine.set(last.index, last.before);
      tell({ kind: "undone", index: last.index, mine: last.before, said: `Record ${record.number}: taken back.` });
    },
    drop: ({ id: entry, kind, index, before = null }) => {
      queue.drop(entry);
      if (kind !== "decide") return;
      mine.set(index, before);
      tell({ kind: "dropped", index, mine: before, id: entry });
    },
    remark: (field, text, remove = false) => {
      const record = current(state);
      if (!record || !text.trim()) return;
      const body = { [field]: [text.trim()], ...(remove && { remove }) };
      queue.add({ kind: "remark", index: record.index, number: record.number, body, said: text.trim() });
      const shown = field === "notes" ? `${state.facts.me}: ${text.trim()}` : text.trim();
      tell({ kind: "remarked", index: record.index, field, text: shown, remove, said: `Record ${record.number}: ${field === "labels" ? "label" : "note"} ${remove ? "taken off" : "kept"}.` });
    },
    filter: (change) => {
      const filters = { ...state.filters, ...change };
      const address = queryOf(filters);
      history.replaceState(null, "", `?${new URLSearchParams([["batch", id], ["view", "work"], ...address])}`);
      tell({ kind: "asked", filters });
      load({ first: true });
    },
  };
};

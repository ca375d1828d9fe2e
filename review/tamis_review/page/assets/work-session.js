// The work of one person on one batch: loads records ahead, and hands decisions to the queue.
import { ask } from "./api.js";
import { queue } from "./decision-queue.js";
import { begun, current, filtersOf, queryOf, isAudited, reduce, sayable, sayingOf, wordOf } from "./work-state.js";

const PAGE = 50;
const AHEAD = 20; // records that are still to come when more are asked for

export const workSession = ({ id, changed }) => {
  const batch = `/v1/batches/${encodeURIComponent(id)}`;
  const mine = new Map(); // by index, what was decided here and the gateway may not have yet
  let state = begun(filtersOf(location.search));
  let asked = 0; // a page that was asked for before the filters changed is no longer wanted

  const tell = (action) => {
    state = reduce(state, action);
    changed();
    if (state.next && !state.loading && !state.problem && state.records.length - state.place < AHEAD) load();
  };

  for (const { index, stage = "own", mine: said, refused } of queue.of(id)) if (said !== undefined && stage === "own" && !refused) mine.set(index, said);
  queue.watch((entry) => {
    const { batch: of, index, stage = "own", mine: said, before = null, dropped } = entry || {};
    if (of !== id || !dropped || !said || stage !== "own") return changed();
    mine.set(index, before);
    return tell({ kind: "dropped", index, mine: before, id: entry.id });
  });

  const load = async ({ first = false } = {}) => {
    asked += 1;
    const number = asked;
    tell({ kind: "loading" });
    queue.forgetSent(id, mine, ({ index }) => index);
    const query = queryOf(state.filters);
    query.set("limit", PAGE);
    if (!first && state.next) query.set("after", state.next);
    try {
      const page = await (await ask(`${batch}/work?${query}`)).json();
      if (number !== asked) return;
      const told = page.items.filter((record) => record.mine).length;
      page.items = page.items.map((record) => (mine.has(record.index) ? { ...record, mine: mine.get(record.index) } : record));
      const more = page.items.filter((record) => record.mine).length - told; // what waits to be sent, the gateway has not counted
      page.counts = { ...page.counts, todo: Math.max(0, page.counts.todo - more), mine: Math.max(0, page.counts.mine + more) };
      tell({ kind: "loaded", page, first });
      document.documentElement.dataset.ready = "true";
    } catch (error) {
      if (number === asked) tell({ kind: "failed", problem: error.message });
    }
  };

  const keep = (record, said) => {
    mine.set(record.index, said.mine);
    return queue.add(id, { ...said, index: record.index });
  };
  const judging = (record, decision) => {
    const include = decision.value === state.facts.values.include;
    const body = { decisions: [{ index: record.index, include }], correct: Boolean(record.mine) };
    return keep(record, { kind: "audit", audit: state.facts.audit.id, body, mine: decision, before: record.mine, said: sayingOf(state.facts, wordOf(state.facts, decision)) });
  };
  const deciding = (record, decision) => {
    if (isAudited(state.facts)) return judging(record, decision);
    const body = { value: decision.value, ...(decision.reason && { reason: decision.reason }), ...(decision.note && { note: decision.note }), ...(decision.settles && { settles: true }), ...(state.filters.order === "next" && { in_order: true }) };
    return keep(record, { kind: "decide", body, mine: decision, before: record.mine, said: sayingOf(state.facts, wordOf(state.facts, decision)) });
  };

  return {
    get state() { return state; },
    load,
    tell,
    decide: (word, reason = null) => {
      const record = current(state);
      if (!record || !sayable(state.facts, word)) return;
      const decision = { value: state.facts.values[word], reason, note: null, settles: Boolean(record.mine?.settles), at: new Date().toISOString() }; // who has settled it settles it anew
      const entry = deciding(record, decision);
      tell({ kind: "decided", index: record.index, mine: decision, id: entry, said: `Record ${record.number}: ${sayingOf(state.facts, word)}${reason ? `, ${reason}` : ""}.` });
    },
    undo: () => {
      if (isAudited(state.facts)) return tell({ kind: "told", said: "You cannot undo a judgement. To change it, press K and judge again." });
      const last = state.history.at(-1);
      if (!last) return tell({ kind: "told", said: "There is nothing to undo. To change an earlier decision, choose “Decided by me”." });
      const record = { index: last.index, number: last.index + 1, mine: last.mine };
      const dropped = queue.dropRefused(last.id); // then the gateway has nothing to take back
      if (!dropped && last.before) deciding(record, last.before);
      else if (!dropped) keep(record, { kind: "withdraw", mine: null, said: "withdrawn" });
      mine.set(last.index, last.before);
      tell({ kind: "undone", index: last.index, mine: last.before, said: `Record ${record.number}: decision undone.` });
    },
    remark: (field, text, remove = false) => {
      const record = current(state);
      if (!record || !text.trim()) return;
      const body = { [field]: [text.trim()], ...(remove && { remove }) };
      queue.add(id, { kind: "remark", index: record.index, body, said: text.trim() });
      const shown = field === "notes" ? `${state.facts.me}: ${text.trim()}` : text.trim();
      tell({ kind: "remarked", index: record.index, field, text: shown, remove, said: `Record ${record.number}: ${field === "labels" ? "label" : "note"} ${remove ? "removed" : "added"}.` });
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

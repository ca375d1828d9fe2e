// One person who settles the conflicts of a batch: reads them, and hands what settles them to the queue of decisions.
import { ask } from "./api.js";
import { queue } from "./decision-queue.js";
import { readPairs } from "./conflicts-agreement.js";
import { begun, factsOf, orderOf, reduce } from "./conflicts-state.js";
import { current, sayable, sayingOf, wordOf } from "./work-state.js";

const ROWS = 50; // records whose text is read at once

const keyOf = ({ index, stage = "own" }) => `${index}.${stage}`;
const settling = (decision) => (decision?.settles ? decision : null);

export const conflictSession = ({ id, me, changed }) => {
  const batch = `/v1/batches/${encodeURIComponent(id)}`;
  const settled = new Map(); // by key, what was said here and the gateway may not have yet
  let state = begun(orderOf(location.search));
  const asked = new Set(); // places of records whose text was asked for

  const tell = (action) => {
    state = reduce(state, action);
    changed();
    readRows();
  };
  for (const { kind, mine, refused, ...entry } of queue.of(id)) if (kind !== "remark" && !refused) settled.set(keyOf(entry), settling(mine));
  queue.watch((entry) => {
    if (entry?.batch !== id || !entry.mine) return changed();
    const key = keyOf(entry);
    if (entry.sent && entry.mine.settles) return tell({ kind: "told", said: `Record ${entry.index + 1} is settled: ${entry.said}.` });
    if (!entry.dropped) return changed();
    settled.set(key, settling(entry.before));
    return tell({ kind: "dropped", key, settled: settling(entry.before), id: entry.id });
  });

  const seen = (conflict) => {
    const key = keyOf(conflict);
    const own = conflict.decisions.find(({ reviewer }) => reviewer === me);
    const { value, reason, note } = own || {};
    return { ...conflict, key, number: conflict.index + 1, own: own ? { value, reason, note, settles: false } : null, settled: settled.get(key) || null };
  };

  const load = async () => {
    tell({ kind: "loading" });
    queue.forgetSent(id, settled, keyOf);
    try {
      const [found, facts, pairs] = await Promise.all([
        ask(`${batch}/conflicts`).then((answer) => answer.json()),
        ask(`${batch}/work?show=todo&limit=1`).then((answer) => answer.json()),
        readPairs(batch),
      ]);
      tell({ kind: "loaded", records: found.items.map(seen), facts, pairs });
      document.documentElement.dataset.ready = "true";
    } catch (error) {
      tell({ kind: "failed", problem: error.message });
    }
  };

  // The texts of the record that is shown and of those behind it, before they are needed.
  const readRows = async () => {
    const here = current(state);
    if (state.problem || !here || asked.has(here.index)) return;
    const wanted = [...new Set(state.records.slice(state.place).map(({ index }) => index))].filter((index) => !asked.has(index)).slice(0, ROWS);
    wanted.forEach((index) => asked.add(index));
    try {
      const { rows } = await (await ask(`${batch}/records?${new URLSearchParams(wanted.map((index) => ["index", index]))}`)).json();
      tell({ kind: "rows", rows });
    } catch (error) {
      wanted.forEach((index) => asked.delete(index));
      tell({ kind: "failed", problem: error.message });
    }
  };

  const keep = ({ key, index, stage }, entry) => {
    settled.set(key, settling(entry.mine));
    return queue.add(id, { ...entry, index, stage });
  };
  const say = (record, { value, reason, note, settles }) => {
    const facts = factsOf(state.facts, record.stage);
    const body = { value, settles, stage: record.stage, ...(reason && { reason }), ...(note && { note }) };
    const mine = { value, reason, note, settles };
    return keep(record, { kind: "decide", body, mine, before: record.settled || record.own, said: `${sayingOf(facts, wordOf(facts, mine))}${reason ? `, ${reason}` : ""}` });
  };

  return {
    get state() { return state; },
    unsent: () => new Set(queue.of(id).filter(({ kind }) => kind !== "remark").map(keyOf)), // keys
    load,
    tell,
    settle: (word, { reason = null, note = null } = {}) => {
      const record = current(state);
      const facts = record && factsOf(state.facts, record.stage);
      if (!record || !sayable(facts, word)) return;
      const decision = { value: facts.values[word], reason, note, settles: true };
      const entry = say(record, decision);
      tell({ kind: "settled", key: record.key, settled: decision, id: entry, said: `Record ${record.number}: ${sayingOf(facts, word)}${reason ? `, ${reason}` : ""}.` });
    },
    // Back to what was said before it: a decision of the pair stands again as it was.
    undo: () => {
      const last = state.history.at(-1);
      if (!last) return tell({ kind: "told", said: "There is nothing to undo." });
      const record = state.records.find(({ key }) => key === last.key);
      const before = last.before || record.own;
      const dropped = queue.dropRefused(last.id); // then the gateway has nothing to take back
      if (!dropped && before) say(record, before);
      else if (!dropped) keep(record, { kind: "withdraw", mine: null, said: "withdrawn" });
      settled.set(last.key, last.before);
      tell({ kind: "undone", key: last.key, settled: last.before, said: `Record ${record.number}: decision undone.` });
    },
    order: (order) => {
      history.replaceState(null, "", `?${new URLSearchParams([["batch", id], ["view", "conflicts"], ...(order === "apart" ? [["order", order]] : [])])}`);
      tell({ kind: "ordered", order });
    },
  };
};

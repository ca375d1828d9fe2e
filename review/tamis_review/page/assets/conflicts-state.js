// What the Conflicts view shows, as a value: every change gives a new one. No network, no elements.

export const ORDERS = { number: "By number", apart: "Largest disagreement first" };

// Which conflicts are not among them yet, by how people read.
export const NOT_YET = {
  single: "",
  pair: "People read blind: a conflict appears once two people have decided on its record.",
  model_second: "The model is the second reader: a conflict appears once you have decided on its record. If the model disagrees with you, that is a conflict, too.",
  model_audited: "People audit the model: the decisions on a sampled record appear once it is judged. A judgement against the model is not a conflict.",
};

export const orderOf = (search) => (new URLSearchParams(search).get("order") === "apart" ? "apart" : "number");

// Of what is decided in a stage: reports have words of their own.
const STAGES = {
  retrieval: { operation: "retrieval", values: { include: "retrieved", exclude: "not retrieved", uncertain: null }, reasons: [] },
  "full-text": { operation: "full-text", values: { include: "include", exclude: "exclude", uncertain: "uncertain" } },
};
export const factsOf = (facts, stage) => ({ ...facts, ...STAGES[stage] });

// 2 where one includes and another excludes, 1 where one of them is uncertain, 0 where the software alone differs.
export const apart = ({ decisions, stage }, facts) => {
  const { values } = factsOf(facts, stage);
  const said = new Set(decisions.map(({ value }) => value));
  return said.size < 2 ? 0 : said.has(values.include) && said.has(values.exclude) ? 2 : 1;
};

const sorted = (records, { order, facts }) =>
  [...records].sort((a, b) => (order === "apart" && apart(b, facts) - apart(a, facts)) || a.index - b.index || (a.key < b.key ? -1 : 1));

export const begun = (order) => ({ order, facts: null, pairs: [], records: [], rows: new Map(), place: 0, loading: true, history: [], open: null, said: "", problem: "" });

export const unsettled = ({ records }) => records.filter(({ settled }) => !settled);

// The next one that is open, from the beginning again where none is ahead.
const after = (records, place) => {
  const ahead = records.findIndex(({ settled }, n) => n > place && !settled);
  const first = records.findIndex(({ settled }) => !settled);
  return [ahead, first, records.length].find((n) => n >= 0);
};

const changed = (records, key, settled) => records.map((record) => (record.key === key ? { ...record, settled } : record));

const CHANGES = {
  loading: (state) => ({ ...state, loading: true, problem: "" }),
  failed: (state, { problem }) => ({ ...state, loading: false, problem }),
  // Those that were settled here stay, to be seen and taken back.
  loaded: (state, { records: found, facts, pairs }) => {
    const keys = new Set(found.map(({ key }) => key));
    const records = sorted([...found, ...state.records.filter(({ key, settled }) => settled && !keys.has(key))], { ...state, facts });
    return { ...state, facts, pairs, records, place: after(records, -1), loading: false, open: null };
  },
  rows: (state, { rows }) => ({ ...state, rows: new Map([...state.rows, ...rows.map((row) => [row.i, row])]) }),
  ordered: (state, { order }) => {
    const records = sorted(state.records, { ...state, order });
    return { ...state, order, records, place: after(records, -1), open: null };
  },
  went: (state, { place }) => ({ ...state, place: Math.max(0, Math.min(place, state.records.length)), open: null }),
  opened: (state, { open }) => ({ ...state, open: state.open === open ? null : open }),
  settled: (state, { key, settled, id, said }) => {
    const before = state.records.find((record) => record.key === key).settled;
    const records = changed(state.records, key, settled);
    return { ...state, records, history: [...state.history, { key, before, id }], place: after(records, state.place), open: null, said };
  },
  undone: (state, { key, settled, said }) => ({
    ...state,
    records: changed(state.records, key, settled),
    history: state.history.slice(0, -1),
    place: state.records.findIndex((record) => record.key === key),
    open: null,
    said,
  }),
  // A decision that was refused and dropped.
  dropped: (state, { key, settled, id }) => ({ ...state, records: changed(state.records, key, settled), history: state.history.filter((one) => one.id !== id) }),
  told: (state, { said }) => ({ ...state, said }),
};

export const reduce = (state, action) => CHANGES[action.kind](state, action);

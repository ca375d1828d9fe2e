// What the Work view shows, as a value: every change gives a new one. No network, no elements.

export const SHOWN = { todo: "To do", mine: "Decided by me", all: "All records", conflicts: "In conflict" };
export const ORDERS = { number: "By number", next: "Best to read first", disagreement: "Disagreement first" };
export const LONGEST_SEARCH = 200; // characters, as the gateway takes them
const FILTERS = ["show", "order", "outcome", "reason", "label", "flagged", "q"];

export const filtersOf = (search) => {
  const asked = new URLSearchParams(search);
  const given = Object.fromEntries(FILTERS.map((name) => [name, asked.get(name) || ""]));
  return { ...given, show: given.show in SHOWN ? given.show : "todo", order: given.order in ORDERS ? given.order : "number" };
};

export const queryOf = (filters) => new URLSearchParams(Object.entries(filters).filter(([, value]) => value));

export const begun = (filters) => ({ filters, facts: null, counts: null, records: [], next: null, place: 0, loading: true, history: [], open: null, said: "", problem: "" });

export const current = (state) => state.records[state.place] ?? null;

// Whether people may say so: a filter knows no uncertain.
export const sayable = ({ values }, word) => values[word] !== null && values[word] !== undefined;

// The word of a decision: include, exclude or uncertain.
export const wordOf = (facts, mine) => Object.keys(facts.values).find((word) => facts.values[word] === mine.value) ?? String(mine.value);

// As people say it of what is asked: a filter asks a question.
const SAYINGS = { audit: { include: "should have been included", exclude: "rightly excluded" }, filter: { include: "yes", exclude: "no" }, retrieval: { include: "retrieved", exclude: "not retrieved" } };
export const sayingOf = ({ operation }, word) => SAYINGS[operation]?.[word] ?? word;

// Whether the records are those of an audit: words of their own, yes or no, and no reasons.
export const isAudited = (facts) => facts?.mode === "model_audited";
const judged = (facts) => ({ ...facts, operation: "audit", values: { ...facts.values, uncertain: null }, reasons: [] });

const open = (record) => !record.mine;

// Where to go from a record that is decided: of what is to do the next, else what was passed over.
const after = ({ records, place, next, filters }) => {
  if (filters.show !== "todo") return place + 1;
  const ahead = records.findIndex((record, n) => n > place && open(record));
  if (ahead >= 0 || next) return ahead >= 0 ? ahead : records.length;
  const behind = records.findIndex((record, n) => n !== place && open(record));
  return behind >= 0 ? behind : records.length;
};

const changed = (records, index, change) => records.map((record) => (record.index === index ? { ...record, ...change(record) } : record));

// A decision where none was is one less to do, and the other way round.
const counted = (counts, before, mine) => {
  const more = Number(Boolean(mine)) - Number(Boolean(before));
  return { ...counts, todo: Math.max(0, counts.todo - more), mine: Math.max(0, counts.mine + more) };
};

const CHANGES = {
  // What was found before was of other filters.
  asked: (state, { filters }) => ({ ...begun(filters), facts: state.facts, counts: state.counts && { ...state.counts, found: null }, history: state.history }),
  loading: (state) => ({ ...state, loading: true, problem: "" }),
  failed: (state, { problem }) => ({ ...state, loading: false, problem }),
  // A page of records; the first of them are those of a new question.
  loaded: (state, { page, first }) => {
    const { items: found, counts, next, ...facts } = page;
    const known = new Set(first ? [] : state.records.map(({ index }) => index));
    const records = [...(first ? [] : state.records), ...found.filter(({ index }) => !known.has(index))];
    const beyond = first || state.place >= state.records.length;
    const from = first ? 0 : state.place;
    const unread = () => records.findIndex((record, n) => n >= from && open(record));
    const passed = () => (next ? -1 : records.findIndex(open));
    const there = () => (state.filters.show === "todo" ? [unread(), passed(), records.length].find((n) => n >= 0) : from);
    const place = beyond ? there() : state.place;
    return { ...state, facts: isAudited(facts) ? judged(facts) : facts, counts: first ? counts : state.counts, records, next, place, loading: false, problem: "" };
  },
  went: (state, { place }) => ({ ...state, place: Math.max(0, Math.min(place, state.records.length)), open: null }),
  opened: (state, { open: what }) => ({ ...state, open: state.open === what ? null : what }),
  decided: (state, { index, mine, id, said }) => {
    const before = current(state).mine;
    const records = changed(state.records, index, () => ({ mine }));
    const history = [...state.history, { index, before, mine, id }];
    return { ...state, records, history, counts: counted(state.counts, before, mine), place: after({ ...state, records }), open: null, said };
  },
  // Back to what was decided before, or to nothing.
  undone: (state, { index, mine, said }) => {
    const place = state.records.findIndex((record) => record.index === index);
    const was = state.records[place]?.mine ?? { value: null };
    const records = changed(state.records, index, () => ({ mine }));
    return { ...state, records, history: state.history.filter((one, n, list) => n < list.length - 1), counts: counted(state.counts, was, mine), place: place < 0 ? state.place : place, open: null, said };
  },
  // A decision that was refused and dropped.
  dropped: (state, { index, mine, id }) => {
    const was = state.records.find((record) => record.index === index)?.mine ?? { value: null };
    return { ...state, records: changed(state.records, index, () => ({ mine })), counts: counted(state.counts, was, mine), history: state.history.filter((one) => one.id !== id) };
  },
  remarked: (state, { index, field, text, remove, said }) => {
    const change = (record) => ({ [field]: [...record[field].filter((one) => one !== text), ...(remove ? [] : [text])] });
    return { ...state, records: changed(state.records, index, change), open: null, said };
  },
  told: (state, { said }) => ({ ...state, said }),
};

export const reduce = (state, action) => CHANGES[action.kind](state, action);

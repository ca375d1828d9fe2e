// The criteria of a new review: its fields, a file that fills them in, and what is doubtful in them while they are typed.
import { ask } from "./api.js";
import { at, make, phrased, say } from "./words.js";

const LISTS = { include: "inclusion_criteria", exclude: "exclusion_criteria", studies: "study_types", keywords: "custom_keywords" };

const lines = (id) => at(id).value.split("\n").map((line) => line.trim()).filter(Boolean);

const years = () => {
  const [first, last] = [at("first-year").value, at("last-year").value];
  if (!first && !last) return null;
  if (!first || !last) throw new Error("Name the first and the last year of publication, or neither.");
  return [Number(first), Number(last)];
};

let examples = []; // of the file of criteria that was read last; the form has no fields for them

// What excludes a record in the file's own words, by the text of its criterion, and of the study types (S1).
let wordings = new Map();
const STUDY_TYPE = "S1";
const LABELLED = { include: "I", exclude: "E" };

const entries = (id) => lines(id).map((text) => (id in LABELLED && wordings.has(text) ? { criterion: text, exclude_as: wordings.get(text) } : text));

export const criteria = () => ({
  research_question: at("question").value.trim(),
  purpose: at("purpose").value.trim() || null,
  date_range: years(),
  ...Object.fromEntries(Object.entries(LISTS).map(([id, name]) => [name, entries(id)])),
  ...(wordings.has(STUDY_TYPE) && lines("studies").length ? { exclude_as: { [STUDY_TYPE]: wordings.get(STUDY_TYPE) } } : {}),
  examples,
});

// Whether there is a question and something to decide it by; before that nothing is doubtful, and nothing can be asked.
export const begun = () => Boolean(at("question").value.trim()) && Object.keys(LISTS).some((id) => lines(id).length);

const read = async (text) => (await ask("/v1/criteria", { method: "POST", json: { text } })).json();

let told = "";

// Said where it is news alone: a screen reader reads the list whenever it changes.
const tell = (doubts) => {
  if (told === doubts.join("\n")) return;
  told = doubts.join("\n");
  at("doubts").replaceChildren(...doubts.map((doubt) => make("li", "", ...phrased(doubt))));
};

const doubtsOf = ({ switched_off: off, doubts }) => [...Object.entries(off).map(([rule, why]) => `The initial filter skips its rule ${rule}: ${why}`), ...doubts];

// Fills the fields in from a file's text.
export const fill = async (text) => {
  const found = await read(text);
  const given = found.criteria;
  at("question").value = given.research_question;
  at("purpose").value = given.purpose || "";
  for (const [id, name] of Object.entries(LISTS)) at(id).value = given[name].join("\n");
  [at("first-year").value, at("last-year").value] = given.date_range || ["", ""];
  tell(doubtsOf(found));
  keepUnseen(given);
  const n = examples.length;
  say(`The criteria are filled in${n ? `, with ${n} worked example${n > 1 ? "s" : ""} from the file` : ""}.`);
};

// Keeps of a file's text what has no field, where the fields are filled in already.
export const remember = async (text) => keepUnseen((await read(text)).criteria);

const keepUnseen = (given) => {
  examples = given.examples || [];
  const worded = given.exclude_as || {};
  wordings = new Map(STUDY_TYPE in worded ? [[STUDY_TYPE, worded[STUDY_TYPE]]] : []);
  for (const [id, letter] of Object.entries(LABELLED)) {
    given[LISTS[id]].forEach((text, n) => { if (`${letter}${n + 1}` in worded) wordings.set(text, worded[`${letter}${n + 1}`]); });
  }
};

const PAUSE = 700; // ms without a key: in the middle of a word nothing is doubtful yet
let waiting;
let asked = 0;

// Says what is doubtful in what has been typed so far.
export const doubtSoon = () => {
  clearTimeout(waiting);
  waiting = setTimeout(async () => {
    const mine = ++asked;
    const doubts = await doubtsNow();
    if (mine === asked) tell(doubts);
  }, PAUSE);
};

const doubtsNow = async () => {
  if (!begun()) return [];
  try {
    return doubtsOf(await read(JSON.stringify(criteria())));
  } catch (error) {
    return [`Incomplete: ${error.message}`];
  }
};

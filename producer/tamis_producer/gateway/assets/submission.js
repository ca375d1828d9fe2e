// A new batch: files of records, and the criteria they are screened against.
import { ask } from "/assets/api.js";
import { at, calm, complain, make, say } from "/assets/words.js";

const LISTS = { include: "inclusion_criteria", exclude: "exclusion_criteria", studies: "study_types", keywords: "custom_keywords" };
const LONGEST_NAME = 200; // characters, as the gateway takes them

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

const criteria = () => ({
  research_question: at("question").value.trim(),
  purpose: at("purpose").value.trim() || null,
  date_range: years(),
  ...Object.fromEntries(Object.entries(LISTS).map(([id, name]) => [name, entries(id)])),
  ...(wordings.has(STUDY_TYPE) && lines("studies").length ? { exclude_as: { [STUDY_TYPE]: wordings.get(STUDY_TYPE) } } : {}),
  examples,
});

const fill = (text) => async () => {
  const read = await (await ask("/v1/criteria", { method: "POST", json: { text: await text() } })).json();
  at("question").value = read.criteria.research_question;
  at("purpose").value = read.criteria.purpose || "";
  for (const [id, name] of Object.entries(LISTS)) at(id).value = read.criteria[name].join("\n");
  [at("first-year").value, at("last-year").value] = read.criteria.date_range || ["", ""];
  const off = Object.entries(read.switched_off).map(([rule, why]) => `Initial filter, without its rule ${rule}: ${why}`);
  at("doubts").replaceChildren(...[...off, ...read.doubts].map((doubt) => make("li", "", doubt)));
  examples = read.criteria.examples || [];
  const worded = read.criteria.exclude_as || {};
  wordings = new Map(STUDY_TYPE in worded ? [[STUDY_TYPE, worded[STUDY_TYPE]]] : []);
  for (const [id, letter] of Object.entries(LABELLED)) {
    read.criteria[LISTS[id]].forEach((text, n) => { if (`${letter}${n + 1}` in worded) wordings.set(text, worded[`${letter}${n + 1}`]); });
  }
  const n = examples.length;
  say(`The criteria are filled in${n ? `, with ${n} worked example${n > 1 ? "s" : ""} from the file` : ""}.`);
};

const example = async () => {
  const [records, text] = await Promise.all(["ris", "yaml"].map(async (ending) => (await ask(`/assets/example.${ending}`)).text()));
  const held = new DataTransfer();
  held.items.add(new File([records], "citations.ris"));
  at("records-file").files = held.files;
  await fill(async () => text)();
};

// A name for this attempt: sent again after a lost connection, it finds the batch that is there already.
const attempt = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

const submit = async (idempotencyKey) => {
  const terms = {
    operation: { operation: "inclusion", criteria: criteria(), unclear: at("unclear").value, unverified: at("unverified").value },
    initial_filter: at("initial-filter").checked,
    keep_duplicates: at("keep-duplicates").checked,
    model: at("model").value.trim() || null,
    max_cost: at("max-cost").value || null,
  };
  const form = new FormData();
  form.append("terms", JSON.stringify(terms));
  for (const file of at("records-file").files) form.append("file", file, file.name.slice(0, LONGEST_NAME));
  const answer = await ask("/v1/files", { method: "POST", headers: { "Idempotency-Key": idempotencyKey }, body: form });
  const { batch } = await answer.json();
  location.assign(`/?batch=${encodeURIComponent(batch.id)}`);
};

export const submission = () => {
  const form = at("new-batch");
  form.hidden = false;
  let key = attempt();
  const trying = (work) => async () => {
    calm();
    try {
      await work();
    } catch (error) {
      complain(error);
    }
  };
  form.addEventListener("input", () => { key = attempt(); }); // something else is a batch of its own
  at("use-example").addEventListener("click", trying(async () => { key = attempt(); await example(); }));
  at("criteria-file").addEventListener("change", trying(async () => {
    const file = at("criteria-file").files[0];
    if (file) await fill(() => file.text())();
  }));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    at("submit").disabled = true;
    say("The records are being sent.");
    await trying(() => submit(key))();
    at("submit").disabled = false;
  });
};

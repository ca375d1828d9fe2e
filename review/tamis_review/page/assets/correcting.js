// Values that a person puts right, below a record's reasons: what `tamis override` does of operations that decide nothing.
import { ask } from "./api.js";
import { queue } from "./decision-queue.js";
import { at, complain, make, say } from "./words.js";

// A value as a person writes it; the gateway reads it as the terminal does.
const written = (value) => {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "object" ? JSON.stringify(value, null, 2) : String(value);
};

const labelled = (field, text) => {
  const label = make("label", "", text);
  label.htmlFor = field.id;
  return make("p", "field", label, field);
};

const button = (text, part, press) => {
  const made = make("button", "", text);
  made.type = "button";
  made.dataset.part = part;
  made.addEventListener("click", press);
  return made;
};

const CORRECTED = ["score", "extract", "extract_fields"];

// Whether people correct the values of a batch; those of a judge or of answers are no statements about its records.
export const correctable = ({ operation }) => CORRECTED.includes(operation);

export const corrector = (id, operation, table) => {
  const batch = `/v1/batches/${encodeURIComponent(id)}`;
  const places = new Map(); // by record: a row that is drawn anew keeps what is being written below it
  let changed = () => {};

  const valueOf = async (index) => {
    const behind = index > 0 ? `&after=${index - 1}` : "";
    const [row] = (await (await ask(`${batch}/results?limit=1${behind}`)).json()).items;
    return row.override ? row.override.value : (row.result?.fields ?? row.result?.value);
  };

  const redraw = async (index, told) => {
    places.delete(index);
    table().change((await (await ask(`${batch}/records?index=${index}`)).json()).rows[0]);
    say(`Record ${index + 1}: ${told}`);
    changed();
  };

  const send = (index, body) => queue.add(id, body ? { kind: "decide", index, body, said: "your value" } : { kind: "withdraw", index, said: "withdrawn" });
  queue.watch((entry) => {
    if (entry?.batch !== id) return;
    if (entry.sent) redraw(entry.index, entry.body ? "your value is saved beside the software’s." : "your value is withdrawn.").catch(complain);
    if (!entry.refused || entry.dropped) return;
    queue.drop(entry); // the field still has it
    complain(entry.refused);
    say(`Record ${entry.index + 1}: not saved. ${entry.refused}`);
  });

  const open = async (index, place) => {
    let value;
    try {
      value = written(await valueOf(index));
    } catch (error) {
      complain(error);
      return;
    }
    const field = make("textarea", "");
    Object.assign(field, { id: `value-${index}`, rows: Math.min(12, value.split("\n").length + 1), value });
    field.dataset.part = "value";
    const note = make("input", "");
    Object.assign(note, { type: "text", id: `note-${index}`, maxLength: 2000, autocomplete: "off" });
    note.dataset.part = "note";
    const noted = () => note.value.trim() || null;
    const keep = button("Save value", "keep", () => send(index, { value: field.value, as_text: true, note: noted() }));
    const none = operation === "extract" ? [button("Not in the record", "none", () => send(index, { value: null, note: noted() }))] : [];
    const what = operation === "extract_fields" ? "Correct fields as JSON (null: not in the record)" : "Correct value";
    place.replaceChildren(labelled(field, what), labelled(note, "Note on this value"), make("div", "actions", keep, ...none));
    field.focus();
  };

  // What stands below the reasons of an open record.
  const block = (row) => {
    const place = places.get(row.i) ?? make("div", "");
    places.set(row.i, place);
    const withdraw = button("Withdraw my value", "withdraw", () => send(row.i, null));
    withdraw.disabled = !row.human && !row.voices;
    const begin = button("Correct the value", "correct", () => (at(`value-${row.i}`) ? at(`value-${row.i}`).focus() : open(row.i, place)));
    return make("div", "deciding", make("div", "actions", begin, withdraw), place);
  };

  return { block, whenChanged: (then) => { changed = then; } };
};

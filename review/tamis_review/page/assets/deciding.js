// Decisions of the person who reads: by one key in a row, or by the buttons below its reasons.
import { ask } from "./api.js";
import { queue } from "./decision-queue.js";
import { at, complain, make, say } from "./words.js";

// What a human may say, by operation; of the others, values are put right with `tamis override`.
const VALUES = {
  inclusion: { include: "include", exclude: "exclude" },
  filter: { include: true, exclude: false },
};
// What people alone say of the report of a record that passed, as the ledger has it.
const REPORT = [
  ["Retrieved", { stage: "retrieval", value: "retrieved" }],
  ["Not retrieved", { stage: "retrieval", value: "not retrieved" }],
  ["Include full text", { stage: "full-text", value: "include" }],
  ["Exclude full text", { stage: "full-text", value: "exclude" }],
  ["Save full text", { stage: "full-text" }], // where it is, and no decision
];
const KEYS = { i: "include", e: "exclude", w: "withdraw" };

export const decider = (id, operation, table) => {
  const values = VALUES[operation];
  if (!values) return null;
  const records = `/v1/batches/${encodeURIComponent(id)}`;
  const word = { include: operation === "filter" ? "Yes" : "Include", exclude: operation === "filter" ? "No" : "Exclude", withdraw: "Withdraw" };
  let changed = () => {};

  const decide = (index, what) => {
    const row = table()?.row(index);
    if (!row) return;
    if (what === "withdraw" && !row.human && !row.voices && !row.hidden && !queue.of(id).some((entry) => entry.index === index)) {
      say(`Record ${index + 1}: there is no decision to withdraw.`);
      return;
    }
    if (what === "withdraw") {
      queue.add(id, { kind: "withdraw", index, mine: null, said: "withdrawn" });
      return;
    }
    const decision = { value: values[what], note: at(`note-${index}`)?.value.trim() || null, settles: at(`settles-${index}`)?.checked || false };
    queue.add(id, { kind: "decide", index, body: { ...decision, in_order: table().arranged() }, mine: { ...decision, reason: null }, said: word[what].toLowerCase() });
  };

  // A note says where a full text is: the new one is added before the old one goes.
  const keepFullText = (index) => {
    const [before, now] = [table().row(index).full_text || "", at(`full-text-${index}`).value.trim()];
    if (now === before) return;
    const add = (text, remove) => text && queue.add(id, { kind: "remark", index, body: { notes: [`full text: ${text}`], remove }, said: "full text" });
    add(now, false);
    add(before, true);
  };

  const assess = (index, said, { stage, value }) => {
    const reason = at(`reason-${index}`).value.trim() || null;
    keepFullText(index);
    if (value) queue.add(id, { kind: "decide", index, stage, body: { value, stage, reason }, said });
  };

  // What the gateway has made of a decision on the batch, whichever view it was made in.
  const show = async ({ kind, index, stage, body, said }) => {
    const name = `Record ${index + 1}`;
    const fresh = await (await ask(`${records}/records?index=${index}`)).json();
    const [now] = fresh.rows;
    table()?.change(now);
    if (kind === "remark" || (stage && stage !== "own")) {
      say(kind === "remark" ? `${name}: ${said} saved.` : `${name}: “${said}” by you${body?.reason ? `, ${body.reason}` : ""}.`);
      return;
    }
    const told = fresh.facts.names[now.outcome];
    if (now.hidden) say(`${name}: ${kind === "withdraw" ? "withdrawn" : "your decision is saved"}. All decisions are hidden until the record has been read.`);
    else if (now.outcome === "conflict") say(`${name}: people decided differently. No decision counts until a person settles the record.`);
    else say(kind === "withdraw" ? `${name}: withdrawn. It is “${told}” again.` : `${name}: “${told}” by you. Press W to withdraw it.`);
  };
  queue.watch((entry) => {
    if (entry?.batch !== id || !entry.sent || !["decide", "withdraw", "remark"].includes(entry.kind)) return;
    show(entry).catch(complain);
    changed();
  });

  // What stands below that of a record that passed: its report.
  const report = (row) => {
    const field = (part, text, value = "") => {
      const input = make("input", "");
      Object.assign(input, { type: "text", id: `${part}-${row.i}`, maxLength: 2000, autocomplete: "off", value });
      input.dataset.part = part;
      const label = make("label", "", text);
      label.htmlFor = input.id;
      return make("p", "field", label, input);
    };
    const buttons = REPORT.map(([said, what]) => {
      const button = make("button", "", said);
      button.type = "button";
      button.dataset.part = `${what.stage}-${what.value ?? "place"}`;
      button.addEventListener("click", () => assess(row.i, said, what));
      return button;
    });
    const fields = [field("full-text", "Link to the full text, or its file name", row.full_text), field("reason", "Reason, if not retrieved or excluded")];
    return [make("h3", "", "Report"), ...fields, make("div", "actions", ...buttons)];
  };

  // What stands below the reasons of an open record.
  const block = (row) => {
    const note = make("input", "");
    Object.assign(note, { type: "text", id: `note-${row.i}`, maxLength: 2000, autocomplete: "off" });
    note.dataset.part = "note";
    const label = make("label", "", "Note on your decision");
    label.htmlFor = note.id;
    const buttons = Object.entries(KEYS).map(([letter, what]) => {
      const button = make("button", "", word[what]);
      button.type = "button";
      button.dataset.part = what;
      button.setAttribute("aria-keyshortcuts", letter.toUpperCase());
      button.disabled = what === "withdraw" && !row.human && !row.voices;
      button.addEventListener("click", () => decide(row.i, what));
      return button;
    });
    const parts = [make("h3", "", "Your decision"), make("p", "field", label, note)];
    if (row.voices) {
      const settles = make("input", "");
      Object.assign(settles, { type: "checkbox", id: `settles-${row.i}` });
      settles.dataset.part = "settles";
      parts.push(make("p", "", make("label", "", settles, " It settles the record: it overrides other decisions")));
    }
    const passed = row.outcome === "passed" ? report(row) : [];
    return make("div", "deciding", ...parts, make("div", "actions", ...buttons), ...passed);
  };

  // Keys count only where the focus is in a row, and nobody is writing.
  const step = (tr, by) => {
    const all = [...document.querySelectorAll("#rows tr.row")];
    const here = all.findIndex((one) => one.dataset.index === tr.dataset.index);
    all[here + by]?.querySelector(".toggle").focus();
  };
  const pressed = (event) => {
    const tr = event.target.closest("tr[data-index]");
    if (!tr || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) return;
    const letter = event.key.toLowerCase();
    if (letter === "j" || letter === "k") step(tr, letter === "j" ? 1 : -1);
    else if (KEYS[letter] && !event.repeat) decide(Number(tr.dataset.index), KEYS[letter]);
    else return;
    event.preventDefault();
  };

  at("about-keys").hidden = false;
  at("rows").addEventListener("keydown", pressed);
  return { block, whenChanged: (then) => { changed = then; } };
};

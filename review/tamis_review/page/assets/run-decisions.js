// Decisions made elsewhere: a file of them, first how it is read and what of it is not found, then recorded.
import { ask } from "./api.js";
import { DRY_RUN, useDryRunFirst } from "./dry-run-first.js";
import { Below, Check, Choice, described, idOf, Input, linesOf, Text, useWrong } from "./operations-inputs.js";
import { anew, Closed, upload } from "./quality-parts.js";
import { html, useState } from "./ui.js";
import { addressOf } from "./views.js";
import { number, say } from "./words.js";

const LISTED = 200; // rows of each kind
const STAGES = { own: "titles and abstracts", retrieval: "report retrieval", "full-text": "full texts" };
const EVERYTHING = [["", "as in the file"], ...["include", "exclude", "uncertain"].map((one) => [one, one])];
const COLUMNS = ["id", "decision", "reviewer", "reason", "note", "retrieval"];
const MEANINGS = ["include", "exclude", "uncertain"];
const column = (role) => `${role}_column`;

// By the name of a term: what its field is called.
const CALLED = {
  reviewer: "Name of the reviewer",
  everything: "Decision for every record in the file",
  ...Object.fromEntries(COLUMNS.map((role) => [column(role), `Column of the ${role}`])),
  ...Object.fromEntries(MEANINGS.map((meaning) => [meaning, `Words that mean ${meaning}`])),
};
const FIRST = { ...Object.fromEntries(Object.keys(CALLED).map((name) => [name, ""])), stage: "own", settles: false };

// The gateway names terms as the terminal does: `--reviewer NAME`, `--all include`.
const OPTION = /--([a-z-]+)( NAME| VALUE)?/g;
const termOf = (option) => (option === "all" ? "everything" : option.replaceAll("-", "_"));

// What is wrong, in the words of this form, and beside which field.
const wrongOf = (values, text) => {
  const named = [...text.matchAll(OPTION)].map(([, option]) => termOf(option)).find((name) => name in CALLED);
  const missing = text.match(/no column '(.*)'; there are/)?.[1];
  const name = named ?? (missing && COLUMNS.map(column).find((one) => values[one].trim() === missing)) ?? "decisions";
  return { name, text: text.replace(OPTION, (whole, option) => (CALLED[termOf(option)] ? `“${CALLED[termOf(option)]}”` : whole)) };
};

const formOf = (values, file, dryRun) => {
  const { stage, settles } = values;
  const named = Object.fromEntries(["reviewer", "everything", ...COLUMNS.map(column)].map((name) => [name, values[name].trim() || null]));
  const words = Object.fromEntries(MEANINGS.map((meaning) => [meaning, linesOf(values[meaning])]));
  return upload({ stage, settles, ...named, ...words, dry_run: dryRun }, file);
};

const rowsOf = (n) => `${number(n)} ${n === 1 ? "row" : "rows"}`;
const decisionsOf = (n) => `${number(n)} ${n === 1 ? "decision" : "decisions"}`;

const Rows = ({ title, rows }) => rows.length > 0 && html`<details open><summary>${rowsOf(rows.length)} ${title}</summary>
  <ol class="quality-list">${rows.slice(0, LISTED).map((row) => html`<li>${row.place}: ${[row.id, row.title].filter(Boolean).join(" ") || "a record without id and title"} <span class="small">${row.why}</span></li>`)}</ol>
  ${rows.length > LISTED && html`<p class="small">And ${number(rows.length - LISTED)} more. On the terminal, <code>--unmatched FILE</code> lists all.</p>`}</details>`;

const Words = ({ title, words }) => words.length > 0 && html`<div><dt>${title}</dt><dd><ul>${words.map(({ word, meaning, n }) => html`<li>${word || "(empty)"} = ${meaning} (${number(n)})</li>`)}</ul></dd></div>`;

const Read = ({ found }) => html`<h3>Preview: nothing is recorded yet</h3><dl class="run-facts run-read">
    <div><dt>File</dt><dd>${found.kind}</dd></div>
    <div><dt>Rows</dt><dd>${number(found.rows)}${found.undecided > 0 && `, ${number(found.undecided)} of them without a decision`}</dd></div>
    <div><dt>Records matched by</dt><dd>${Object.entries(found.found_by).map(([by, n]) => `${by}, ${number(n)}`).join("; ") || "nothing"}</dd></div>
    <div><dt>Decided by</dt><dd>${found.reviewers.join(", ")}</dd></div>
    <div><dt>Columns</dt><dd><ul>${Object.entries(found.columns).map(([role, name]) => html`<li>${role} from “${name}”</li>`)}</ul></dd></div>
    <${Words} title="Words" words=${found.words} /><${Words} title="Words for reports" words=${found.retrieval_words} /></dl>
  <${Rows} title="not found in the batch" rows=${found.unmatched} />
  <${Rows} title="skipped as ambiguous" rows=${found.ambiguous} />`;

const Done = ({ id, done }) => html`<p>${decisionsOf(done.new)} recorded for ${done.reviewers.join(", ")}, on ${STAGES[done.stage]}.${done.changed > 0 && ` Replaced earlier decisions: ${number(done.changed)}.`}${done.decisions > done.new && ` Already recorded: ${number(done.decisions - done.new)}.`}
  ${done.conflicts > 0 && html` <a href=${addressOf(id, "conflicts")}>${number(done.conflicts)} ${done.conflicts === 1 ? "record is" : "records are"} in conflict</a>.`}</p>`;

const Import = ({ id, path }) => {
  const [values, setValues] = useState(FIRST);
  const [file, setFile] = useState(null);
  const [wrong, setWrong] = useState(null);
  const [done, setDone] = useState(null);
  const asked = async (dryRun) => (await ask(`${path}/decisions`, await formOf(values, file, dryRun))).json();
  const { found, busy, changed, send } = useDryRunFirst({
    dryRun: async () => {
      const told = await asked(true);
      say(`${decisionsOf(told.decisions)} would be recorded. Nothing is recorded yet.`);
      return told;
    },
    submit: async () => {
      setDone(await asked(false));
      changed();
    },
    tell: (error) => setWrong(error && wrongOf(values, error.message)),
  });
  const change = () => {
    changed();
    setDone(null);
  };
  const form = { id: "operation", values, wrong, set: (name, value) => { change(); setValues((now) => ({ ...now, [name]: value })); } };
  useWrong(form);
  const field = (name, more) => html`<${Input} form=${form} name=${name} label=${CALLED[name]} maxlength="100" ...${more} />`;
  return html`<form class="form operations" onSubmit=${send} aria-labelledby="run-decisions-heading">
    <p class="field"><label for=${idOf(form, "decisions")}>File of decisions</label><input type="file" id=${idOf(form, "decisions")} required onClick=${anew} onChange=${(event) => { change(); setFile(event.target.files[0]); }} ...${described(form, "decisions", true)} /></p>
    <${Below} form=${form} name="decisions" about="A CSV or TSV table, an export of Rayyan or Covidence, or a project of ASReview. Records are matched by id, DOI, PMID and title." />
    ${field("reviewer", { maxlength: "200", about: "If the file names reviewers, only this reviewer’s decisions are recorded (empty: all decisions)." })}
    <div class="side"><${Choice} form=${form} name="stage" label="Stage" of=${Object.entries(STAGES)} />
      <${Choice} form=${form} name="everything" label=${CALLED.everything} of=${EVERYTHING} /></div>
    <${Check} form=${form} name="settles" label="Settle the records: these decisions override others and end conflicts" />
    <details><summary>Columns and words, if Tamis cannot guess them</summary>
      <div class="side">${COLUMNS.map((role) => field(column(role)))}</div>
      ${MEANINGS.map((meaning) => html`<${Text} form=${form} name=${meaning} label=${`${CALLED[meaning]}, one per line`} />`)}</details>
    <div role="status">${found && html`<${Read} found=${found} />`}${done && html`<${Done} id=${id} done=${done} />`}</div>
    <p class="actions"><button type="submit" value=${DRY_RUN} class=${found ? "" : "main"} disabled=${busy}>Preview the file</button>
      ${found && html`<button type="submit" value="record" class="main" disabled=${busy || !found.decisions}>Record ${decisionsOf(found.decisions)}</button>`}</p></form>`;
};

export const Decisions = ({ id, path }) => html`<section aria-labelledby="run-decisions-heading">
  <h2 id="run-decisions-heading">Decisions made elsewhere</h2>
  <p>Import the decisions that people made in another program or in a table.</p>
  <${Closed} text="Import a file of decisions"><${Import} id=${id} path=${path} /><//></section>`;

// The random sample of what nobody has read, by which a promise is made: drawn, extended, read, saved as a table, closed.
import { ask, download } from "./api.js";
import { Asked, Problem, RecordLink, recordsOf, SHORT } from "./quality-parts.js";
import { html, useEffect, useState } from "./ui.js";
import { addressOf } from "./views.js";
import { number, say } from "./words.js";

const NAMED = 5; // records to read next

// An audit of all exclusions may be the beginning of a sample; others speak for a part alone.
const Drawing = ({ path, n, open, draw }) => {
  const [audits, setAudits] = useState([]);
  useEffect(() => {
    if (!open) ask(`${path}/audits`).then((answer) => answer.json()).then(({ items }) => setAudits(items.filter(({ stratum }) => stratum === "all")), () => {}); // without any, a seed draws
  }, []);
  const drawn = (event) => {
    event.preventDefault();
    const { seed, audit } = event.target.elements;
    draw({ ...(seed?.value && { seed: Number(seed.value) }), ...(audit?.value && { audit: audit.value }) });
  };
  return html`<form class="actions quality-drawing" onSubmit=${drawn}>
    ${!open && html`<span class="field"><label for="quality-seed">Seed (empty: a new seed)</label><input type="number" id="quality-seed" name="seed" min="0" step="1" /></span>`}
    ${audits.length > 0 && html`<span class="field"><label for="quality-begins">Beginning of the sample</label><select id="quality-begins" name="audit"><option value="">a new draw</option>${audits.map((one) => html`<option value=${one.id}>the audit with seed ${one.seed}</option>`)}</select></span>`}
    <button type="submit" class="main">${open ? `Draw ${recordsOf(n)} more` : "Draw the sample"}</button></form>`;
};

const Reading = ({ batch, path, sample, waiting }) => {
  const [problem, setProblem] = useState("");
  const save = () => {
    setProblem("");
    download(`${path}/stop?form=csv`, `sample-${sample.number}-${batch.id.slice(0, SHORT)}.csv`).then((name) => say(`${name} is saved.`), (error) => setProblem(error.message));
  };
  return html`<p>${recordsOf(waiting.length)} to read next, in this order: ${waiting.slice(0, NAMED).map((record, n) => html`${n ? ", " : ""}<${RecordLink} batch=${batch} record=${record} />`)}${waiting.length > NAMED && ` and ${number(waiting.length - NAMED)} more`}.</p>
    <p class="actions"><a class="button" href=${`${addressOf(batch.id, "work")}&order=next`}>Read the sample in Work</a><button type="button" onClick=${save}>Save as table (CSV)</button></p>
    <p class="small">Fill in the table’s column “decision”, from the top. Then run <code>tamis override ${batch.id.slice(0, SHORT)} --file FILE --reviewer NAME</code>.</p>
    <${Problem} text=${problem} />`;
};

const CLOSING = "You can neither extend nor reopen a closed sample. Decisions on it still count. The next sample is another attempt, and may use only a smaller part of the allowed error.";

export const Sample = ({ batch, path, answer, people, decide, told }) => {
  const sample = answer.samples.find((one) => one.closed_at === null);
  const waiting = sample ? sample.records.filter((one) => one.included === null) : [];
  const lacking = answer.verdict === "not yet" ? answer.needed[0] - waiting.length : 0;
  const draw = (how) => told(ask(`${path}/stop-samples`, { method: "POST", json: { recall: answer.recall, confidence: answer.confidence, human_errors: people, ...how } }));
  const close = () => told(ask(`${path}/stop-samples/close`, { method: "POST" }));
  return html`<div class="quality-sample">
    ${waiting.length > 0 && html`<${Reading} batch=${batch} path=${path} sample=${sample} waiting=${waiting} />`}
    ${decide && lacking > 0 && html`<${Drawing} path=${path} n=${lacking} open=${Boolean(sample)} draw=${draw} />`}
    ${decide && sample && html`<${Asked} key=${sample.id} deed="Close the sample …" words=${() => CLOSING} no="Keep it open" yes="Close it" act=${close} />`}</div>`;
};

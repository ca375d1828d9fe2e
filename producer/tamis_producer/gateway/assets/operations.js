// Something else asked of records than a screening: one operation, its parameters, a dry run, and the batch.
import { ask } from "/assets/api.js";
import { newId } from "/assets/decision-sending.js";
import { DryRun } from "/assets/operations-dry-run.js";
import { FIRST, KINDS } from "/assets/operations-kinds.js";
import { formOf, How, USUAL } from "/assets/operations-terms.js";
import { html, render, useRef, useState } from "/assets/ui.js";
import { addressOf } from "/assets/views.js";
import { calm, complain, number, say } from "/assets/words.js";

const Operation = () => {
  const [kind, choose] = useState("filter");
  const [values, setValues] = useState({ ...FIRST, ...USUAL });
  const [files, setFiles] = useState([]);
  const [found, setFound] = useState(null); // by the dry run of what stands there
  const [busy, setBusy] = useState(false);
  const attempt = useRef(newId()); // sent again after a lost connection, it finds the batch that is there already
  const version = useRef(0);
  const changed = () => {
    attempt.current = newId(); // something else is a batch of its own
    version.current += 1;
    setFound(null);
  };
  const form = { values, set: (name, value) => { changed(); setValues((now) => ({ ...now, [name]: value })); } };
  const [, Parameters] = KINDS[kind];
  const trying = async (work) => {
    calm();
    setBusy(true);
    await work().catch(complain);
    setBusy(false);
  };
  const rehearse = async () => {
    const asked = version.current;
    say("The dry run is worked out.");
    const told = await (await ask("/v1/dry-run", { method: "POST", body: formOf(kind, values, files) })).json();
    if (asked !== version.current) return; // something was changed meanwhile
    setFound(told);
    say(`${number(told.calls)} calls. Nothing was submitted.`);
  };
  const submit = async () => {
    say("The records are being sent.");
    const answer = await ask("/v1/files", { method: "POST", headers: { "Idempotency-Key": attempt.current }, body: formOf(kind, values, files) });
    location.assign(addressOf((await answer.json()).batch.id));
  };
  const send = (event) => {
    event.preventDefault();
    trying(event.submitter?.value === "dry-run" || !found ? rehearse : submit);
  };
  const left = found && (found.asked === 1 ? "Ask about 1 record" : `Ask about ${number(found.asked)} records`);
  return html`<form class="form operations" onSubmit=${send} aria-labelledby="title">
    <fieldset><legend>Records</legend>
      <p class="field"><label for="operation-files">Files of records</label><input type="file" id="operation-files" multiple required=${kind !== "answer"} aria-describedby="operation-files-about" onChange=${(event) => { changed(); setFiles([...event.target.files]); }} /></p>
      <p class="small" id="operation-files-about">RIS, NBIB (MEDLINE), BibTeX, EndNote XML, CSV, TSV or JSONL. Copies of a record are kept out and counted.</p></fieldset>
    <fieldset><legend>What to ask</legend>
      <p class="field"><label for="operation-kind">Operation</label><select id="operation-kind" value=${kind} onChange=${(event) => { changed(); choose(event.target.value); }}>${Object.entries(KINDS).map(([name, [title]]) => html`<option value=${name}>${title}</option>`)}</select></p>
      <${Parameters} form=${form} /></fieldset>
    <fieldset><legend>How</legend><${How} form=${form} /></fieldset>
    <section class="operations-found dry-run">${found && html`<${DryRun} found=${found} />`}</section>
    <p class="actions"><button type="submit" value="dry-run" class=${found ? "" : "main"} disabled=${busy}>Dry run: prompts, calls, money and time</button>
      ${found && html`<button type="submit" value="submit" class="main" disabled=${busy || !found.asked}>${left}</button>`}</p>
    ${!found && html`<p class="small">Nothing is asked of a model before you have seen what it takes.</p>`}</form>`;
};

export const show = (element) => render(html`<${Operation} />`, element);

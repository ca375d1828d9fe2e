// Something else asked of records than a screening: one operation, its parameters, a dry run, and the batch.
import { ask } from "./api.js";
import { useDryRunFirst } from "./dry-run-first.js";
import { LeftOut, rehearsed, Seen, submitted } from "./operations-dry-run.js";
import { FIRST, KINDS } from "./operations-kinds.js";
import { formOf, How, OfFiles, USUAL } from "./operations-terms.js";
import { html, render, useState } from "./ui.js";
import { calm, complain, number } from "./words.js";

const Operation = () => {
  const [kind, choose] = useState("filter");
  const [values, setValues] = useState({ ...FIRST, ...USUAL });
  const [files, setFiles] = useState([]);
  const asked = (path, headers = {}) => ask(path, { method: "POST", headers, body: formOf(kind, values, files) });
  const { found, busy, changed, send } = useDryRunFirst({
    dryRun: () => rehearsed(asked("/v1/dry-run")),
    submit: (headers) => submitted(asked("/v1/files", headers)),
    tell: (error) => (error ? complain(error) : calm()),
  });
  const form = { id: "operation", values, set: (name, value) => { changed(); setValues((now) => ({ ...now, [name]: value })); } };
  const [, Parameters] = KINDS[kind];
  const left = found && (found.asked === 1 ? "Ask about 1 record" : `Ask about ${number(found.asked)} records`);
  return html`<form class="form operations" onSubmit=${send} aria-labelledby="title">
    <fieldset><legend>Records</legend>
      <p class="field"><label for="operation-files">Files of records</label><input type="file" id="operation-files" multiple required=${kind !== "answer"} aria-describedby="operation-files-about" onChange=${(event) => { changed(); setFiles([...event.target.files]); }} /></p>
      <p class="small" id="operation-files-about">RIS, NBIB (MEDLINE), BibTeX, EndNote XML, CSV, TSV or JSONL. Copies of a record are removed and counted.</p></fieldset>
    <fieldset><legend>What to ask</legend>
      <p class="field"><label for="operation-kind">Operation</label><select id="operation-kind" value=${kind} onChange=${(event) => { changed(); choose(event.target.value); }}>${Object.entries(KINDS).map(([name, [title]]) => html`<option value=${name}>${title}</option>`)}</select></p>
      <${Parameters} form=${form} /></fieldset>
    <fieldset><legend>Settings</legend><${How} form=${form} named=${files.length || kind !== "answer" ? "its files’ names" : "the question"}><${OfFiles} form=${form} /><//></fieldset>
    <${Seen} found=${found} busy=${busy} deed=${left}><${LeftOut} found=${found} /><//></form>`;
};

export const show = (element) => render(html`<${Operation} />`, element);

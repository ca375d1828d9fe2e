// What of a batch can be saved as a file: its report, its results, and its records as reference managers read them.
import { download } from "./api.js";
import { html, render, useState } from "./ui.js";
import { calm, complain, nameOf, say } from "./words.js";

// Where it is, how the file's name ends, what it is called, and what it holds.
const REPORT = [
  ["report", "html", "Report (HTML)", "The whole report in one page: figure, tables, methods, every decision with its reasons."],
  ["report?form=svg", "svg", "Figure (SVG)", "Only the flow of records, as a drawing for a manuscript."],
  ["report?form=png", "png", "Figure (PNG)", "Only the flow of records, as an image at 300 dpi."],
  ["report?form=md", "md", "Methods (Markdown)", "The flow as a table, and the methods in words."],
  ["report?form=json", "json", "Figures (JSON)", "Every number of the report, for a program."],
];
const RESULTS = [
  ["results?form=csv", "csv", "Results (CSV)", "A table with a row for each record: its decision, confidence and reason."],
  ["results?form=ndjson", "jsonl", "Everything (JSONL)", "All data on each record, one record per line, for a program."],
];
const FIELDS = "The records with their decisions and reasons";
const RECORDS = [
  ["export", null, "Original format", `${FIELDS}, in the format of the screened files, with all their fields.`],
  ["export?format=ris", "ris", "RIS", `${FIELDS}, for EndNote, Zotero, Rayyan and similar programs.`],
  ["export?format=nbib", "nbib", "NBIB (MEDLINE)", `${FIELDS}, in PubMed’s format.`],
  ["export?format=bibtex", "bib", "BibTeX", `${FIELDS}, for LaTeX and JabRef.`],
  ["export?format=endnote", "xml", "EndNote XML", `${FIELDS}, for EndNote.`],
  ["export?format=csv", "csv", "CSV", `${FIELDS}, as a table.`],
  ["export?format=tsv", "tsv", "TSV", `${FIELDS}, as a table separated by tabs.`],
  ["export?format=jsonl", "jsonl", "JSONL", `${FIELDS}, one per line, with every field.`],
];
const FILES = [...REPORT, ...RESULTS, ...RECORDS];
const OF = { all: [], included: ["include"], "included and uncertain": ["include", "uncertain"], uncertain: ["uncertain"], excluded: ["exclude"] };

const Options = ({ label, files }) => html`<optgroup label=${label}>${files.map(([route, , name]) => html`<option value=${route}>${name}</option>`)}</optgroup>`;

const Files = ({ batch }) => {
  const [route, choose] = useState("report");
  const [of, chooseOf] = useState("all");
  const [busy, setBusy] = useState(false);
  const [, ending, , holds] = FILES.find(([one]) => one === route);
  const some = batch.operation === "inclusion" && route.startsWith("export");
  const save = async (event) => {
    event.preventDefault();
    calm();
    setBusy(true);
    const only = some ? OF[of].map((one) => `only=${one}`).join("&") : "";
    const from = `/v1/batches/${encodeURIComponent(batch.id)}/${route}${only && (route.includes("?") ? "&" : "?")}${only}`;
    const plain = nameOf(batch).replace(/[^\p{L}\p{N}._-]+/gu, "-");
    await download(from, ending && `${plain}-${batch.id.slice(0, 8)}.${ending}`).then((name) => say(`${name} is saved.`), complain);
    setBusy(false);
  };
  return html`<h2 id="saving-heading">Files to save</h2>
    <form class="actions" onSubmit=${save} aria-labelledby="saving-heading">
      <span class="field"><label for="saving-file">File</label><select id="saving-file" value=${route} onChange=${(event) => choose(event.target.value)} aria-describedby="saving-holds">
        <${Options} label="Report" files=${REPORT} /><${Options} label="Results" files=${RESULTS} /><${Options} label="Records for reference managers" files=${RECORDS} /></select></span>
      ${some && html`<span class="field"><label for="saving-of">Records</label><select id="saving-of" value=${of} onChange=${(event) => chooseOf(event.target.value)}>${Object.keys(OF).map((one) => html`<option value=${one}>${one}</option>`)}</select></span>`}
      <button type="submit" class="main" disabled=${busy}>Save</button></form>
    <p class="small" id="saving-holds" aria-live="polite">${holds}</p>`;
};

export const offerFiles = (batch, element) => render(html`<${Files} batch=${batch} />`, element);

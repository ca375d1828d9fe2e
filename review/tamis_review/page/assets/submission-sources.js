// The files of a new review, as they were read before anything runs: whose they are, their first records, what was lost.
import { ask, download } from "./api.js";
import { Pairs } from "./submission-pairs.js";
import { html, render } from "./ui.js";
import { at, calm, complain, number, say } from "./words.js";

const LONGEST_NAME = 200; // characters, as the gateway takes them
const SHOWN = 100; // pairs of each kind
const UNFOLDED = 2; // files; of more the first records are a click away, so that the criteria are not far below

const stated = new Map(); // what people say of a file, by its name
let now = {}; // busy, problem, found

const nameOf = (file) => file.name.slice(0, LONGEST_NAME);
const files = () => [...at("records-file").files];

// Every file, in its order: those that are given one name are one source, as on the command line.
const sources = () => {
  const groups = new Map();
  for (const file of files().map(nameOf)) {
    const said = Object.fromEntries(Object.entries(stated.get(file) || {}).filter(([, value]) => value));
    const key = said.name || `\n${file}`;
    groups.set(key, { ...said, ...groups.get(key), files: [...(groups.get(key)?.files || []), file] });
  }
  return [...groups.values()];
};

// How the files are read, as the gateway takes it.
export const reading = () => {
  const encoding = at("encoding").value.trim();
  return { sources: sources(), ...(encoding && { encoding }) };
};

export const formOf = (terms) => {
  const form = new FormData();
  form.append("terms", JSON.stringify(terms));
  for (const file of files()) form.append("file", file, nameOf(file));
  return form;
};

export const recordsRead = () => now.found?.records ?? 0;

const counted = (n, one, many) => `${number(n)} ${n === 1 ? one : many}`;

const Notes = ({ file }) => file.notes.length > 0 && html`<details open=${file.lost > 0}><summary>${[
    file.lost && `${counted(file.lost, "record", "records")} could not be read`, file.skipped && `${counted(file.skipped, "line", "lines")} skipped`, file.notes.some(({ kind }) => kind === "doubt") && "the encoding is a guess"].filter(Boolean).join(", ")}</summary>
  <ul>${file.notes.map((note) => html`<li>line ${number(note.line)}: ${note.text}${note.n > 1 && ` (${number(note.n)} times)`}</li>`)}</ul></details>`;

const First = ({ record }) => html`<li>${record.title || "without a title"}
  <span class="small"> ${[record.authors, record.journal, record.year].filter(Boolean).join(" · ")}</span></li>`;

const File = ({ file, n, unfolded }) => {
  const said = stated.get(file.file) || {};
  const told = file.source === file.file ? "" : file.source;
  const take = (what) => (event) => { stated.set(file.file, { ...stated.get(file.file), [what]: event.target.value.trim() }); };
  return html`<li class="new-file"><h2>${file.file}</h2>
    <p class="small">${file.format}, ${counted(file.records, "record", "records")}${file.completes && `; it completes ${file.completes}`}${file.replaced > 0 && `; ${counted(file.replaced, "byte is", "bytes are")} not ${file.encoding}`}</p>
    <div class="side"><p class="field"><label for=${`source-${n}`}>Database or register</label>
        <input type="text" id=${`source-${n}`} data-source maxlength="200" autocomplete="off" value=${said.name || told} onInput=${take("name")} aria-describedby=${told || said.name ? null : `source-${n}-about`} />
        ${!told && !said.name && html`<span id=${`source-${n}-about`}>Not named in the file. Reports use the file name.</span>`}</p>
      <p class="field"><label for=${`searched-${n}`}>Searched on</label><input type="date" id=${`searched-${n}`} data-source value=${said.searched || ""} onInput=${take("searched")} /></p></div>
    <${Notes} file=${file} />
    <details open=${unfolded}><summary>First ${file.first.length === 1 ? "record" : `${file.first.length} records`}</summary>
      <ol class="new-first">${file.first.map((record) => html`<${First} record=${record} />`)}</ol></details></li>`;
};

const save = async () => {
  calm();
  const asked = { method: "POST", body: formOf(reading()) };
  await download("/v1/duplicates?form=csv", "pairs.csv", asked).then((name) => say(`${name} is saved.`), complain);
};

const Preview = ({ busy, problem, found }) => html`
  <div role="status">${busy && html`<p class="small">Reading files …</p>`}
    ${problem && html`<p class="notice">${problem}</p>`}
    ${found && html`<p>${counted(found.records, "record was", "records were")} read. ${found.copies ? `${counted(found.copies, "is a copy", "are copies")} of another record.` : "There are no copies."}</p>`}</div>
  ${found && html`<ul class="new-files">${found.files.map((file, n) => html`<${File} key=${file.file} file=${file} n=${n} unfolded=${found.files.length <= UNFOLDED} />`)}</ul>
    <${Pairs} found=${found} shown=${SHOWN} save=${save} />`}`;

const show = (next) => {
  now = next;
  render(html`<${Preview} ...${now} />`, at("preview"));
};

let asked = 0;

// Reads the files that are chosen now; what was read before stays until then.
export const readFiles = async () => {
  const mine = ++asked;
  let next = {};
  if (files().length) show({ busy: true, found: now.found });
  try {
    if (files().length) next = { found: await (await ask(`/v1/duplicates?limit=${SHOWN}`, { method: "POST", body: formOf(reading()) })).json() };
  } catch (error) {
    next = { problem: error.message };
  }
  if (mine === asked) show(next);
};

// What the sections of the Quality view have in common: a problem, a command of the terminal, a link to a record.
import { html, useEffect, useRef, useState } from "./ui.js";
import { addressOf } from "./views.js";
import { number } from "./words.js";
import { LONGEST_SEARCH } from "./work-state.js";

const IN_TABLE = 20000; // records of a batch that its table holds; of a larger one a record is searched for

export const SHORT = 8; // letters of an id that a command takes

export const pathOf = (batch) => `/v1/batches/${encodeURIComponent(batch.id)}`;

// What the gateway says: its commands, which stand in backquotes, as code.
export const Said = ({ text }) => text.split("`").map((part, n) => (n % 2 ? html`<code>${part}</code>` : part));

export const Problem = ({ text }) => text && html`<p class="notice" role="alert"><${Said} text=${text} /></p>`;

export const Terminal = ({ children }) => html`<p class="small">On the terminal: <code>${children}</code></p>`;

// What is asked of the gateway only once somebody opens it: until then its inside is not made.
export const Closed = ({ text, children }) => {
  const [asked, setAsked] = useState(false);
  return html`<details class="quality-closed" onToggle=${(event) => event.target.open && setAsked(true)}><summary>${text}</summary>${asked && children}</details>`;
};

// A deed that is asked about before it is done, where `words()` has something to say of it; the focus goes along.
export const Asked = ({ deed, words, no, yes, act }) => {
  const [asked, setAsked] = useState(null); // null: never, so the focus is left where it is
  const here = useRef();
  useEffect(() => {
    if (asked !== null) here.current?.focus();
  }, [asked]);
  const begin = () => {
    const said = words();
    return said ? setAsked(said) : act();
  };
  if (!asked) return html`<p class="actions"><button type="button" ref=${here} onClick=${begin}>${deed}</button></p>`;
  return html`<div class="notice quality-asked" role="group" aria-label=${deed.replace(" …", "")}><p>${asked}</p>
    <p class="actions"><button type="button" ref=${here} onClick=${() => setAsked("")}>${no}</button><button type="button" onClick=${act}>${yes}</button></p></div>`;
};

// Rows of { name, values, about }: what each figure is stands beside it.
export const Figures = ({ name, heads, rows }) => html`<table class="plain quality-figures">
  <caption class="hidden">${name}</caption>
  <thead><tr><th scope="col">Figure</th>${heads.map((head) => html`<th scope="col">${head}</th>`)}<th scope="col">Meaning</th></tr></thead>
  <tbody>${rows.map((row) => html`<tr key=${row.name}><th scope="row">${row.name}</th>${row.values.map((value, n) => html`<td data-name=${heads.length > 1 ? heads[n] : null}>${value}</td>`)}<td class="small">${row.about}</td></tr>`)}</tbody></table>`;

export const recordsOf = (n) => `${number(n)} ${n === 1 ? "record" : "records"}`;

// A share as people type it, in per cent, and as the gateway takes it.
export const percent = (share) => `${Number((100 * share).toPrecision(6))}`;
export const shareOf = (field) => Number((Number(field.value) / 100).toPrecision(6));

export const Field = ({ id, text, about, children }) => html`<p class="field"><label for=${id}>${text}</label>${children}${about && html`<span class="small" id=${`${id}-about`}>${about}</span>`}</p>`;

const recordAddress = (batch, { index, title }) =>
  batch.counts.n_items <= IN_TABLE || !title
    ? `${addressOf(batch.id)}#record-${index + 1}`
    : `${addressOf(batch.id, "work")}&${new URLSearchParams({ show: "all", q: title.slice(0, LONGEST_SEARCH) })}`;

export const RecordLink = ({ batch, record }) => html`<a href=${recordAddress(batch, record)}>${record.index + 1}: ${record.title || record.item_id}</a>`;

const CHANGED = "The file was changed or deleted after it was chosen: choose it again.";

// A file as the gateway takes it, with how it is to be read. A browser sends none that was changed since it was chosen.
export const upload = async (terms, file) => {
  await file.slice(0, 1).arrayBuffer().catch(() => {
    throw new Error(CHANGED);
  });
  const body = new FormData();
  body.append("terms", JSON.stringify(terms));
  body.append("file", file);
  return { method: "POST", body };
};

// Of a field of a file: the same file, chosen again after it was changed, is another one.
export const anew = (event) => {
  event.target.value = "";
};

// One record as a person reads it: its own words first, then what was said of it.
import { html } from "./ui.js";
import { HEADINGS, pieces } from "./marking.js";
import { sayingOf, wordOf } from "./work-state.js";

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1).replaceAll("_", " ");
const element = (name, className, ...children) => html`<${name} class=${className}>${children}</${name}>`;
const quotes = quotesMadeWith(element); // of the report's quotes.js

export const Marked = ({ text, marks, finders, criteria }) =>
  pieces(text, { marks, finders }).map(({ text: part, quoted, ends, altered, word }) => {
    const inner = word === "heading" ? html`<b>${part}</b>` : word ? html`<span class=${`word ${word}`}>${part}</span>` : part;
    if (!quoted.length) return inner;
    const title = quoted.map((label) => criteria[label]?.text || label).join("; ");
    return html`<mark class=${altered ? "altered" : ""} title=${title}>${inner}${ends.length > 0 && html`<sup>${ends.join(", ")}</sup>`}</mark>`;
  });

export const Identifiers = ({ row }) => html`<p class="by ids">${(row.ids || []).map(([text, address], n) => html`${n > 0 && " · "}${address ? html`<a href=${address} target="_blank" rel="noreferrer">${text}</a>` : text}`)}</p>`;

// What a record is read for: it stands beside a text alone, where no verdicts repeat it.
const Criteria = ({ criteria }) => {
  const list = (excludes) => Object.entries(criteria).filter(([, criterion]) => criterion.excludes === excludes);
  const part = (heading, entries) => entries.length > 0 && html`<h3>${heading}</h3><ul>${entries.map(([name, { text }]) => html`<li key=${name}><b>${name}</b> ${text}</li>`)}</ul>`;
  return html`<section class="work-criteria" aria-label="Criteria">${part("Include if it meets all of", list(false))}${part("Exclude if it meets any of", list(true))}</section>`;
};

export const Texts = ({ row, shown }) => {
  const finders = [HEADINGS, ...shown.finders];
  const fields = (row.fields || []).filter(({ name }) => name !== "title");
  const abstract = fields.some(({ name }) => name === "abstract") || !row.title;
  return html`
    ${!abstract && html`<p class="work-none">This record has no abstract.</p>`}
    ${fields.map(({ name, text, marks, cut }) => html`<section key=${name} class="work-field">
      ${name !== "abstract" && html`<h3>${capital(name)}</h3>`}
      <p class="text"><${Marked} text=${text} marks=${marks} ...${shown} finders=${finders} />${cut ? ` […] The ledger has ${cut.toLocaleString("en")} more characters.` : ""}</p>
    </section>`)}`;
};

const Verdicts = ({ row, criteria }) => html`<table class="plain verdicts">
  <thead class="hidden"><tr><th scope="col">Criterion and quote</th><th scope="col">Verdict</th></tr></thead>
  <tbody>${row.verdicts.map(([name, verdict, quote, state, field, differences]) => {
    const criterion = criteria[name] || { text: "", excludes: false };
    const against = verdict !== "unclear" && (verdict === "met") === criterion.excludes;
    return html`<tr key=${name}><th scope="row"><b>${name}</b> ${criterion.text}${quote !== undefined && quotes.shown(quote, state, field, differences)}</th><td class=${against ? "against" : ""}>${verdict}</td></tr>`;
  })}</tbody>
</table>`;

// What the software decided, and why.
export const Software = ({ row, facts }) => {
  const software = row.system || row.outcome;
  return html`
    <p><span class=${`badge ${software}`}>${facts.names[software] || software}</span>${row.sure === undefined ? "" : html` <span class="by">confidence ${row.sure.toFixed(2)}</span>`}${row.flagged && html`<span class="flag">${quotes.flags(row.verdicts).join(", ")}</span>`}</p>
    ${(row.systemReason || row.reason) && html`<p>Reason: ${row.systemReason || row.reason}</p>`}
    ${row.because && html`<p>${capital(row.because)}</p>`}
    ${row.why && html`<p class="why">${row.why}</p>`}
    ${row.error && html`<p>${row.error}</p>`}
    ${row.verdicts && html`<${Verdicts} row=${row} criteria=${facts.criteria} />`}`;
};

// Of a hidden record, by how people read.
const ALONE = {
  pair: "Decide alone: other decisions appear once two people have decided.",
  model_second: "Decide alone: the decisions of the model and of others appear after yours.",
  model_audited: "Judge alone: the model’s decision and reasons appear once the record is judged.",
};

// What the software and others said. Of a hidden record the gateway sends nothing of it.
const Said = ({ record, facts }) => {
  const { row } = record;
  if (record.hidden) return html`<p class="notice">${ALONE[facts.mode]}</p><${Criteria} criteria=${facts.criteria} />`;
  const others = (row.voices || (row.human ? [{ ...row.human, value: facts.names[row.outcome] }] : [])).filter(({ by }) => by !== facts.me);
  return html`<section class="work-said" aria-labelledby="said-title">
    <h3 id="said-title">The software’s decision</h3>
    <${Software} row=${row} facts=${facts} />
    ${!row.verdicts && html`<${Criteria} criteria=${facts.criteria} />`}
    ${others.length > 0 && html`<h3>Others’ decisions</h3>${others.map((one) => html`<p key=${one.by}>${one.by}: ${one.value}${one.settles ? ", settles the record" : ""}${one.note ? ` (“${one.note}”)` : ""}</p>`)}`}
  </section>`;
};

// Only addresses of the web become links.
const Linked = ({ text }) => text.split(/(https?:\/\/[^\s<>"]*[^\s<>".,;:!?])/).map((part, n) => (n % 2 ? html`<a href=${part} target="_blank" rel="noreferrer">${part}</a>` : part));

// `unsent`: the decision has not reached the gateway; `own`: labels and notes can be taken off, `take(field, text)`.
export const Card = ({ record, unsent, facts, finders, own, take }) => {
  const { row, mine } = record;
  const shown = { finders, criteria: facts.criteria };
  const title = (row.fields || []).find(({ name }) => name === "title");
  const signed = `${facts.me}: `; // the gateway says whose a note is
  const off = (field, text) => own && html` <button type="button" class="take" onClick=${() => take(field, text)} aria-label=${`Remove: ${text}`}>×</button>`;
  return html`<article class="work-card" aria-labelledby="work-title">
    <p class="eyebrow">Record ${record.number.toLocaleString("en")}</p>
    <h2 id="work-title" tabindex="-1"><${Marked} text=${row.title || `(no title) ${row.id}`} marks=${title?.marks} ...${shown} /></h2>
    ${row.by && html`<p class="by">${row.by}</p>`}
    <${Identifiers} row=${row} />
    ${mine && html`<p class="work-mine"><span class=${`badge ${{ include: "passed", exclude: "excluded", uncertain: "uncertain" }[wordOf(facts, mine)] || ""}`}>${sayingOf(facts, wordOf(facts, mine))}</span> decided by me${unsent ? ", not sent yet" : ""}${mine.reason ? `: ${mine.reason}` : ""}${mine.note ? ` (${mine.note})` : ""}</p>`}
    ${record.labels.length > 0 && html`<ul class="work-labels" aria-label="Labels">${record.labels.map((text) => html`<li key=${text}>${text}${off("labels", text)}</li>`)}</ul>`}
    ${record.notes.length > 0 && html`<ul class="work-notes" aria-label="Notes">${record.notes.map((text) => html`<li key=${text}><${Linked} text=${text} />${text.startsWith(signed) && off("notes", text.slice(signed.length))}</li>`)}</ul>`}
    <${Texts} row=${row} shown=${shown} />
    <${Said} record=${record} facts=${facts} />
  </article>`;
};

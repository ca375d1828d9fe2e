// What each model of a panel brought, whether they err together, and the records on which they differ most.
import { ask } from "./api.js";
import { Closed, Problem, RecordLink } from "./quality-parts.js";
import { html, useEffect, useState } from "./ui.js";
import { addressOf } from "./views.js";

// Of a panel the batch names several models in one line, or one with how often it was asked.
export const isPanel = ({ model }) => /, | \(\d+ times\)$/.test(model || "");

const Table = ({ name, heads: [first, ...heads], rows }) => rows.length > 0 && html`<div class="quality-scroll" tabindex="0" role="group" aria-label=${name}><table class="plain quality-panel">
  <caption>${name}</caption>
  <thead><tr><th scope="col">${first}</th>${heads.map((head) => html`<th scope="col" class="number">${head}</th>`)}</tr></thead>
  <tbody>${rows.map(([row, ...cells]) => html`<tr key=${row}><th scope="row">${row}</th>${cells.map((cell) => html`<td class="number">${cell}</td>`)}</tr>`)}</tbody></table></div>`;

const Differing = ({ batch, records }) => records.length > 0 && html`<h3>Largest differences</h3>
  <p><a href=${`${addressOf(batch.id, "work")}&order=disagreement`}>Read these first in Work</a></p>
  <ul class="quality-list">${records.map((record) => html`<li key=${record.index}><${RecordLink} batch=${batch} record=${record} /> <span class="small">${Object.entries(record.words).map(([model, word]) => `${model}: ${word}`).join("; ")}</span></li>`)}</ul>`;

const Found = ({ batch, path }) => {
  const [found, setFound] = useState(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    ask(`${path}/panel`).then((answer) => answer.json()).then(setFound, (error) => setProblem(error.message));
  }, []);
  if (!found) return problem ? html`<${Problem} text=${problem} />` : html`<p class="small">Loading …</p>`;
  const { words, differing } = found;
  return html`<ul class="quality-sentences">${words.sentences.map((sentence) => html`<li key=${sentence}>${sentence}</li>`)}</ul>
    <${Table} name="The models" heads=${words.member_heads} rows=${words.members} />
    <${Table} name="Pairs of models" heads=${words.pair_heads} rows=${words.pairs} />
    <${Differing} batch=${batch} records=${differing} />`;
};

export const Panel = (given) => html`<${Closed} text="Show what each model adds"><${Found} ...${given} /><//>`;

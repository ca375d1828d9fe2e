// Copies, which are kept out, and pairs that may be copies, side by side with what speaks for it.
import { html } from "./ui.js";
import { number } from "./words.js";

const Side = ({ record, what }) => html`<div><p class="small">${what}</p><p>${record.title || "without a title"}</p>
  <p class="small">${[record.journal, record.year, record.doi].filter(Boolean).join(" · ")}</p>
  <p class="small">${record.file}, record ${number(record.index + 1)}${record.line && `, line ${number(record.line)}`}</p></div>`;

const WORDS = {
  copy: ["Removed copy", "Kept record", (n) => `${number(n)} ${n === 1 ? "copy" : "copies"} removed`],
  doubt: ["First record", "Second record", (n) => `${number(n)} ${n === 1 ? "pair" : "pairs"} of possible copies to check; both records are kept`],
};

const Kind = ({ kind, n, pairs, shown }) => {
  const [one, other, summary] = WORDS[kind];
  return n > 0 && html`<details><summary>${summary(n)}</summary>
    <ol class="new-pairs">${pairs.map((pair) => html`<li><p>${pair.reason}</p>
      <div class="new-pair"><${Side} record=${pair.record} what=${one} /><${Side} record=${pair.stays} what=${other} /></div></li>`)}</ol>
    ${n > shown && html`<p class="small">These are the first ${number(shown)}. The CSV file has all.</p>`}</details>`;
};

export const Pairs = ({ found, shown, save }) => {
  const of = (kind) => found.pairs.filter((pair) => pair.kind === kind);
  return html`<${Kind} kind="doubt" n=${found.doubts} pairs=${of("doubt")} shown=${shown} />
    <${Kind} kind="copy" n=${found.copies} pairs=${of("copy")} shown=${shown} />
    ${found.copies + found.doubts > 0 && html`<p><button type="button" onClick=${save}>Save all pairs (CSV)</button></p>`}`;
};

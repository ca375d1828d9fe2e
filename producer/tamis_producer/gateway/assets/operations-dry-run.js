// What a dry run found, and what of the files became no record. Nothing was submitted.
import { Run } from "/assets/dry-run.js";
import { html, useEffect, useRef } from "/assets/ui.js";
import { number } from "/assets/words.js";

const counted = (n, one, many) => `${number(n)} ${n === 1 ? one : many}`;

export const DryRun = ({ found }) => {
  const heading = useRef(null);
  useEffect(() => heading.current.focus(), [found]); // it may be out of sight, below the form
  return html`<h2 tabindex="-1" ref=${heading}>Dry run: nothing was submitted</h2>
    <${Run} run=${found} />
    ${found.notes.length > 0 && html`<details><summary>${counted(found.notes.length, "note", "notes")} on what became no record</summary>
      <ul class="small">${found.notes.map((note) => html`<li>${note.file}, line ${note.line}: ${note.text}${note.n > 1 && ` (${number(note.n)} times)`}</li>`)}</ul></details>`}
    ${found.doubtful.length > 0 && html`<details><summary>${counted(found.doubts, "pair", "pairs")} of records that may be copies; both are asked about</summary>
      <ul class="small">${found.doubtful.map((pair) => html`<li>${pair.titles.map((title, n) => title || pair.ids[n]).join(" / ")}: ${pair.reason}</li>`)}</ul></details>`}`;
};

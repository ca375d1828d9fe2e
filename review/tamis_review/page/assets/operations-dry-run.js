// What a dry run of a batch found, and the buttons that ask for it and submit what was seen.
import { Run } from "./dry-run.js";
import { DRY_RUN } from "./dry-run-first.js";
import { html, useEffect, useRef } from "./ui.js";
import { addressOf } from "./views.js";
import { number, say } from "./words.js";

const counted = (n, one, many) => `${number(n)} ${n === 1 ? one : many}`;

const said = async (text, answer) => {
  say(text);
  return (await answer.finally(() => say(""))).json();
};

// The answer of a dry run, and that of a submission, which leads to the new batch.
export const rehearsed = async (answer) => {
  const told = await said("Calculating the dry run …", answer);
  say(`${number(told.calls)} calls. Nothing was submitted.`);
  return told;
};

export const submitted = async (answer) => location.assign(addressOf((await said("Submitting …", answer)).batch.id));

// What became no record of the files, and what may be there twice.
export const LeftOut = ({ found }) => html`
  ${found.notes.length > 0 && html`<details><summary>${counted(found.notes.length, "note", "notes")} on skipped or unreadable text</summary>
    <ul class="small">${found.notes.map((note) => html`<li>${note.file}, line ${note.line}: ${note.text}${note.n > 1 && ` (${number(note.n)} times)`}</li>`)}</ul></details>`}
  ${found.doubtful.length > 0 && html`<details><summary>${counted(found.doubts, "pair", "pairs")} of possible copies; both records are asked about</summary>
    <ul class="small">${found.doubtful.map((pair) => html`<li>${pair.titles.map((title, n) => title || pair.ids[n]).join(" / ")}: ${pair.reason}</li>`)}</ul></details>`}`;

const Found = ({ found, left, what, children }) => {
  const heading = useRef(null);
  useEffect(() => heading.current.focus(), [found]); // it may be out of sight, below the form
  return html`<h2 tabindex="-1" ref=${heading}>Dry run: nothing was submitted</h2>
    <${Run} run=${found} left=${left} what=${what} />${children}`;
};

export const Seen = ({ found, busy, deed, left, what, children }) => html`
  <section class="operations-found dry-run">${found && html`<${Found} found=${found} left=${left} what=${what}>${children}<//>`}</section>
  <p class="actions"><button type="submit" value=${DRY_RUN} class=${found ? "" : "main"} disabled=${busy}>Dry run: prompts, calls, cost and time</button>
    ${found && html`<button type="submit" value="submit" class="main" disabled=${busy || !found.asked}>${deed}</button>`}</p>
  ${!found && html`<p class="small">No model is asked before you have seen the dry run.</p>`}`;

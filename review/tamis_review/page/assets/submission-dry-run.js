// Where the form of a new review says what it would ask, take and cost.
import { priced, Run } from "./dry-run.js";
import { html, render } from "./ui.js";
import { at, number } from "./words.js";

export const NOT_COMPLETE = "A required field above is empty or invalid. A review of several stages needs a title.";
export const NOT_READY = "Choose files and write the criteria. Then this step shows calls, cost and time before anything runs.";

// `{ note }`: why there is none; `{ run }`: what was found; `{ busy }`: it is being looked for, and what was there stays: where
// the page grew shorter, a click on what is at its end would miss it.
export const showRun = ({ busy, note, run }) => {
  at("dry-run-said").textContent = busy ? "Calculating …" : run ? `Nothing is submitted yet. ${priced(run)}` : "";
  at("submit").textContent = run ? `Screen these ${number(run.asked)} ${run.asked === 1 ? "record" : "records"}` : "Screen these records";
  if (busy) return;
  render(html`${note && html`<p>${note.split("`").map((part, n) => (n % 2 ? html`<code>${part}</code>` : part))}</p>`}${run && html`<${Run} run=${run} />`}`, at("dry-run"));
};

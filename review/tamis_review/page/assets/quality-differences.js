// Where a person's labels and the software differ, by what the criteria said: what there may be to mend in them.
import { ask } from "./api.js";
import { Problem, RecordLink, recordsOf } from "./quality-parts.js";
import { html, useEffect, useState } from "./ui.js";
import { number } from "./words.js";

const AT_ONCE = 500; // records that the gateway is asked for together
const LISTED = 20;

const byReason = (lost) => [...lost.reduce((counts, { reason }) => counts.set(reason, (counts.get(reason) || 0) + 1), new Map())].sort(([, a], [, b]) => b - a);

// The records that the person excluded and the software includes; what people decided later about them changes nothing of it.
const keptInVain = async (path, places) => {
  const found = [];
  for (let from = 0; from < places.length; from += AT_ONCE) {
    const asked = places.slice(from, from + AT_ONCE).map((place) => `index=${place}`).join("&");
    found.push(...(await (await ask(`${path}/records?${asked}`)).json()).rows);
  }
  return found.filter((row) => (row.system ?? row.outcome) === "passed").map((row) => ({ index: row.i, item_id: row.id, title: row.title }));
};

export const Differences = ({ batch, path, pilot, labels, lost }) => {
  const [kept, setKept] = useState(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    keptInVain(path, pilot.records.filter((_, n) => labels[n] === false).map((one) => one.index)).then(setKept, (error) => setProblem(error.message));
  }, []);
  if (!kept) return html`<${Problem} text=${problem} />`;
  if (!kept.length && !lost.length) return html`<p>Wherever the software decided, it agrees with you: these labels show no problem in the criteria.</p>`;
  return html`<section class="quality-differences" aria-labelledby="quality-mend"><h3 id="quality-mend">Possible problems in the criteria</h3>
    ${lost.length > 0 && html`<p>Records that you include and the software excludes, by its reason:</p><ul>${byReason(lost).map(([reason, n]) => html`<li key=${reason}>${reason}: ${recordsOf(n)}</li>`)}</ul>`}
    ${kept.length > 0 && html`<p>${recordsOf(kept.length)} that you exclude and the software includes:</p>
      <ul>${kept.slice(0, LISTED).map((record) => html`<li key=${record.index}><${RecordLink} batch=${batch} record=${record} /></li>`)}</ul>${kept.length > LISTED && html`<p class="small">And ${number(kept.length - LISTED)} more.</p>`}`}
    <p class="small">Open a record to see the verdict and quote for each criterion. If you change the criteria, draw a new pilot: the old labels make the new criteria look too good.</p></section>`;
};

// A file of a person's labels, and what the batch's decisions are worth by it. Nothing is kept.
import { ask } from "/assets/api.js";
import { Figures } from "/assets/quality-parts.js";
import { html, useState } from "/assets/ui.js";
import { number } from "/assets/words.js";

const LISTED = 20; // records of lost evidence

const Found = ({ found: { words, lost, matching } }) => html`
  <p>${number(matching.labelled)} records have a label.</p>
  ${words.sampling && html`<p class="notice">${words.sampling}.</p>`}
  <${Figures} name="Rates" heads=${["referred to a human is kept", "referred is left out"]} rows=${words.rates} />
  <${Figures} name="Further figures" heads=${["Value"]} rows=${words.more} />
  <p>${lost.length ? `${number(lost.length)} records that the human included are excluded:` : "No record that the human included is excluded."}</p>
  <ul>${lost.slice(0, LISTED).map((one) => html`<li>${number(one.index + 1)}: ${one.title || one.item_id} <span class="small">(${one.reason})</span></li>`)}</ul>
  ${lost.length > LISTED && html`<p class="small">And ${number(lost.length - LISTED)} more.</p>`}`;

export const Labels = ({ path }) => {
  const [got, setGot] = useState({});
  const send = async (event) => {
    event.preventDefault();
    const body = new FormData();
    const column = event.target.elements.column.value.trim();
    body.append("terms", JSON.stringify(column ? { column } : {}));
    body.append("file", event.target.elements.labels.files[0]);
    setGot({ waiting: true });
    try {
      setGot({ found: await (await ask(`${path}/evaluation`, { method: "POST", body })).json() });
    } catch (error) {
      setGot({ problem: error.message });
    }
  };
  return html`<form class="form" onSubmit=${send}>
      <p class="field"><label for="quality-labels">File of labels: ids, and 1 for included or 0 for excluded</label><input type="file" id="quality-labels" name="labels" required /></p>
      <p class="field"><label for="quality-labels-column">Its column of labels; found by itself if empty</label><input type="text" id="quality-labels-column" name="column" autocomplete="off" /></p>
      <p><button type="submit" disabled=${got.waiting}>Evaluate</button></p></form>
    <div role="status">${got.found && html`<${Found} found=${got.found} />`}</div>
    ${got.problem && html`<p class="notice" role="alert">${got.problem}</p>`}`;
};

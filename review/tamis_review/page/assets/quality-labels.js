// A file of a person's labels, and what the batch's decisions are worth by it. Nothing is kept.
import { ask } from "./api.js";
import { anew, Figures, Problem, RecordLink, recordsOf, upload } from "./quality-parts.js";
import { html, useState } from "./ui.js";
import { number } from "./words.js";

const LISTED = 20; // records of lost evidence

export const Evaluated = ({ batch, found: { words, lost, matching, finished } }) => html`
  <p>${recordsOf(matching.labelled)} ${matching.labelled === 1 ? "has" : "have"} a label.${!finished && " The batch is not finished: open records count as referred to a human."}</p>
  ${words.sampling && html`<p class="notice">${words.sampling}.</p>`}
  <${Figures} name="Rates" heads=${["referred counts as kept", "without referred records"]} rows=${words.rates} />
  <${Figures} name="Further figures" heads=${["Value"]} rows=${words.more} />
  <p>${lost.length ? `${recordsOf(lost.length)} that the human included ${lost.length === 1 ? "is" : "are"} excluded:` : "No record that the human included is excluded."}</p>
  <ul>${lost.slice(0, LISTED).map((one) => html`<li key=${one.index}><${RecordLink} batch=${batch} record=${one} /> <span class="small">(${one.reason})</span></li>`)}</ul>
  ${lost.length > LISTED && html`<p class="small">And ${number(lost.length - LISTED)} more.</p>`}`;

// The form of such a file; `send` is given the file and how it is to be read.
export const LabelsForm = ({ id, deed, waiting, send, children }) => {
  const sent = (event) => {
    event.preventDefault();
    const { elements } = event.target;
    const column = elements.column.value.trim();
    send(elements.labels.files[0], column ? { column } : {}, elements);
  };
  return html`<form class="form" onSubmit=${sent}>
      <p class="field"><label for=${id}>File of labels: ids, and 1 for included or 0 for excluded</label><input type="file" id=${id} name="labels" required onClick=${anew} /></p>
      <p class="field"><label for=${`${id}-column`}>Column of labels (empty: found automatically)</label><input type="text" id=${`${id}-column`} name="column" autocomplete="off" /></p>
      ${children}
      <p><button type="submit" disabled=${waiting}>${deed}</button></p></form>`;
};

export const Labels = ({ batch, path }) => {
  const [got, setGot] = useState({});
  const send = async (file, terms) => {
    setGot({ waiting: true });
    try {
      setGot({ found: await (await ask(`${path}/evaluation`, await upload(terms, file))).json() });
    } catch (error) {
      setGot({ problem: error.message });
    }
  };
  return html`<${LabelsForm} id="quality-labels" deed="Evaluate" waiting=${got.waiting} send=${send} />
    <div role="status">${got.found && html`<${Evaluated} batch=${batch} found=${got.found} />`}</div>
    <${Problem} text=${got.problem} />`;
};

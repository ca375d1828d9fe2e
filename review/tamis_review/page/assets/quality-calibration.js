// A threshold with a guarantee: the score from which on records are kept, by labels of a random sample.
import { ask, download } from "./api.js";
import { LabelsForm } from "./quality-labels.js";
import { Closed, Figures, Problem, recordsOf, Said, shareOf, SHORT, Terminal, upload } from "./quality-parts.js";
import { html, useState } from "./ui.js";
import { say } from "./words.js";

const [RECALL, DOUBT] = [95, 5]; // per cent

const Refused = ({ found: { refusal, sampling } }) => html`<p class="notice">No threshold: <${Said} text=${refusal} />.${sampling.lie === "selected" && html` A <a href="#quality-pilot">pilot</a> is a random sample.`}</p>`;

const Threshold = ({ words, save }) => html`
  <${Figures} name="The threshold" heads=${["Value"]} rows=${words.rows} />
  <p class="small"><${Said} text=${words.holds} /></p><p class="small">In this batch ${words.score}.</p>
  <p class="actions"><button type="button" onClick=${save}>Save which records are kept (CSV)</button></p>`;

const Calibrated = ({ found, save }) => html`
  <p>${recordsOf(found.matching.labelled)} ${found.matching.labelled === 1 ? "has" : "have"} a label.${!found.finished && " The batch is not finished: open records count as referred to a human."}</p>
  ${found.words.remarks.map((remark) => html`<p class="small">Note: ${remark}.</p>`)}
  ${found.refusal === null ? html`<${Threshold} words=${found.words} save=${save} />` : html`<${Refused} found=${found} />`}`;

// What labels allow, whether they come as a file or were given on the page: `send(file, terms)`, and what it shows.
export const useCalibration = (batch, path) => {
  const [got, setGot] = useState({});
  const send = async (file, terms) => {
    setGot({ waiting: true });
    try {
      setGot({ found: await (await ask(`${path}/calibration`, await upload(terms, file))).json(), file, terms });
    } catch (error) {
      setGot({ problem: error.message });
    }
  };
  const save = () => upload(got.terms, got.file).then((how) => download(`${path}/calibration?form=csv`, `kept-${batch.id.slice(0, SHORT)}.csv`, how)).then((name) => say(`${name} is saved.`), (error) => setGot({ problem: error.message }));
  const shown = html`<div role="status">${got.found && html`<${Calibrated} found=${got.found} save=${save} />`}</div><${Problem} text=${got.problem} />`;
  return { send, shown, waiting: got.waiting };
};

// What is to be promised, as fields of a form, and as the gateway takes it.
export const Wanted = ({ id }) => html`<div class="side">
  <p class="field"><label for=${`${id}-recall`}>Recall: includes to keep, in %</label><input type="number" id=${`${id}-recall`} name="recall" min="0.1" max="99.99" step="any" required defaultValue=${RECALL} /></p>
  <p class="field"><label for=${`${id}-delta`}>Probability of keeping fewer, in %</label><input type="number" id=${`${id}-delta`} name="delta" min="0.01" max="99.9" step="any" required defaultValue=${DOUBT} /></p></div>`;

export const wantedOf = ({ recall, delta }) => ({ recall: shareOf(recall), delta: shareOf(delta) });

const ByFile = ({ batch, path }) => {
  const { send, shown, waiting } = useCalibration(batch, path);
  return html`<${LabelsForm} id="quality-calibration" deed="Find the threshold" waiting=${waiting} send=${(file, terms, fields) => send(file, { ...terms, ...wantedOf(fields) })}><${Wanted} id="quality-calibration" /><//>
    ${shown}
    <${Terminal}>tamis calibrate ${batch.id.slice(0, SHORT)} --labels FILE --recall 0.95 --delta 0.05<//>`;
};

export const Calibration = (given) => html`<${Closed} text="Calibrate with a file of labels"><${ByFile} ...${given} /><//>`;

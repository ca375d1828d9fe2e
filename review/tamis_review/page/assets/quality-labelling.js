// The records of a pilot one after the other, in the order in which they were drawn, and what their labels say.
import { ask } from "./api.js";
import { useCalibration, Wanted, wantedOf } from "./quality-calibration.js";
import { Differences } from "./quality-differences.js";
import { Evaluated } from "./quality-labels.js";
import { Problem, upload } from "./quality-parts.js";
import { tableOf } from "./quality-pilot-kept.js";
import { html, useEffect, useRef, useState } from "./ui.js";
import { number } from "./words.js";
import { sayingOf } from "./work-state.js";

// As people say it of what is asked: a filter asks a question.
const wordOf = (batch, include) => sayingOf(batch, include ? "include" : "exclude").replace(/^./, (letter) => letter.toUpperCase());

const Record = ({ batch, record, place, of, label, back }) => html`<article class="quality-record" aria-labelledby="quality-record-title">
  <p class="small">${number(place + 1)} of ${number(of)}: record ${number(record.index + 1)}</p>
  <h3 id="quality-record-title" aria-live="polite">${record.title || record.id}</h3>
  <p class="text">${record.abstract || "This record has no abstract."}</p>
  <p class="actions"><button type="button" onClick=${() => label(true)}>${wordOf(batch, true)}</button><button type="button" onClick=${() => label(false)}>${wordOf(batch, false)}</button>${place > 0 && html`<button type="button" onClick=${back}>Back</button>`}</p></article>`;

const Told = ({ batch, path, pilot, labels }) => {
  const [got, setGot] = useState({});
  const calibration = useCalibration(batch, path);
  const evaluate = async () => {
    setGot({ waiting: true });
    try {
      setGot({ found: await (await ask(`${path}/evaluation`, await upload({}, tableOf(pilot, labels)))).json(), of: labels });
    } catch (error) {
      setGot({ problem: error.message });
    }
  };
  const calibrate = (event) => {
    event.preventDefault();
    calibration.send(tableOf(pilot, labels), wantedOf(event.target.elements));
  };
  return html`<p class="actions"><button type="button" class="main" disabled=${got.waiting} onClick=${evaluate}>Compare with the software</button></p>
    <p class="small">The comparison shows the software’s decisions. Finish blind labelling first.</p>
    <div role="status">${got.found && html`<${Evaluated} batch=${batch} found=${got.found} /><${Differences} key=${got.of.length} batch=${batch} path=${path} pilot=${pilot} labels=${got.of} lost=${got.found.lost} />`}</div>
    <${Problem} text=${got.problem} />
    <details><summary>Find the threshold with these labels</summary><form class="form" onSubmit=${calibrate}><${Wanted} id="quality-pilot-wanted" /><p><button type="submit" disabled=${calibration.waiting}>Calibrate</button></p></form>${calibration.shown}</details>`;
};

export const Labelling = ({ batch, path, pilot, first, keep }) => {
  const [labels, setLabels] = useState(first);
  const [last, changed] = [useRef(), useRef(false)];
  const set = (all) => {
    changed.current = true;
    setLabels(all);
    keep(all);
  };
  const of = pilot.records.length;
  const ended = labels.length === of;
  useEffect(() => {
    if (ended && changed.current) last.current.focus(); // the buttons of the last record are gone
  }, [ended]);
  const included = labels.filter(Boolean).length;
  return html`${!ended && html`<${Record} batch=${batch} record=${pilot.records[labels.length]} place=${labels.length} of=${of} label=${(include) => set([...labels, include])} back=${() => set(labels.slice(0, -1))} />`}
    ${ended && html`<p class="actions"><strong>All records have a label.</strong><button type="button" ref=${last} onClick=${() => set(labels.slice(0, -1))}>Back</button></p>`}
    <p class="small" role="status">${number(labels.length)} labelled, ${number(included)} of them included. Only this browser keeps the labels.</p>
    ${labels.length > 0 && html`<${Told} batch=${batch} path=${path} pilot=${pilot} labels=${labels} />`}`;
};

// A pilot: a random sample of the records, labelled here or in a table, blind to what the software decided. The gateway keeps nothing of it.
import { ask, download } from "./api.js";
import { Asked, Closed, Problem, SHORT } from "./quality-parts.js";
import { Labelling } from "./quality-labelling.js";
import { keptPilot } from "./quality-pilot-kept.js";
import { html, useEffect, useState } from "./ui.js";
import { number, say } from "./words.js";

const USUAL = 200; // records
const MOST = 10000;

const drawing = (n, seed) => ({ method: "POST", json: { n, ...(seed !== null && { seed }) } });

const lost = (n) => n > 0 && `The ${number(n)} ${n === 1 ? "label" : "labels"} given here will be lost.`;

const Drawn = ({ batch, path, kept, given, forget }) => {
  const [problem, setProblem] = useState("");
  const { pilot, n, labels } = given;
  const save = () => {
    setProblem("");
    download(`${path}/pilots?form=csv`, `pilot-${batch.id.slice(0, SHORT)}.csv`, drawing(n, pilot.seed)).then((name) => say(`${name} is saved.`), (error) => setProblem(error.message));
  };
  return html`<p>${number(pilot.records.length)} of ${number(pilot.population)} records, drawn with seed ${pilot.seed}. Label them in this order. At every point, the labelled records are a random sample.</p>
    <p class="actions"><button type="button" onClick=${save}>Save as table (CSV)</button></p>
    <p class="small">Fill in the table’s column “include” with yes or no, from the top. Then choose the table in <a href="#quality-evaluate">Evaluate by labels</a> or <a href="#quality-calibrate">Calibrate</a>.</p>
    <${Problem} text=${problem} />
    <${Labelling} batch=${batch} path=${path} pilot=${pilot} first=${labels} keep=${(all) => kept.put({ n, seed: pilot.seed, labels: all })} />
    <${Asked} deed="Draw another pilot …" words=${() => lost(kept.get()?.labels.length || 0)} no="Keep labels" yes="Discard labels" act=${forget} />`;
};

const Pilots = ({ batch, path, owner }) => {
  const kept = keptPilot(owner, batch.id);
  const [given, setGiven] = useState(null);
  const [problem, setProblem] = useState("");
  const draw = async (n, seed, labels = []) => {
    setProblem("");
    try {
      const pilot = await (await ask(`${path}/pilots`, drawing(n, seed))).json();
      if (!labels.length) kept.put({ n, seed: pilot.seed, labels });
      setGiven({ pilot, n, labels });
    } catch (error) {
      setProblem(error.message);
    }
  };
  useEffect(() => {
    const before = kept.get();
    if (before) draw(before.n, before.seed, before.labels);
  }, []);
  const asked = (event) => {
    event.preventDefault();
    const { n, seed } = event.target.elements;
    draw(Number(n.value), seed.value === "" ? null : Number(seed.value));
  };
  const forget = () => {
    kept.drop();
    setGiven(null);
  };
  if (given) return html`<${Drawn} key=${given.pilot.seed} batch=${batch} path=${path} kept=${kept} given=${given} forget=${forget} />`;
  return html`<form class="actions quality-drawing" onSubmit=${asked}>
      <span class="field"><label for="quality-pilot-n">Records to draw at random</label><input type="number" id="quality-pilot-n" name="n" min="1" max=${MOST} required defaultValue=${USUAL} /></span>
      <span class="field"><label for="quality-pilot-seed">Seed (empty: a new seed)</label><input type="number" id="quality-pilot-seed" name="seed" min="0" step="1" /></span>
      <button type="submit">Draw a pilot</button></form>
    <${Problem} text=${problem} />`;
};

export const Pilot = (given) => html`<${Closed} text="Draw or continue a pilot"><${Pilots} ...${given} /><//>`;

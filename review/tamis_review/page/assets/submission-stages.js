// The further stages of a new review: of what passes the screening more is asked, one operation after the other.
import { FIRST, STAGE_KINDS } from "./operations-kinds.js";
import { Choice, Count, numberOf } from "./operations-inputs.js";
import { askedOf, Model, Steered, USUAL } from "./operations-terms.js";
import { html, render } from "./ui.js";
import { at, say } from "./words.js";

const FIRST_NUMBER = 2; // the number of the first one: the screening is stage 1
const MOST = 9; // a plan has ten, with the screening
const PASSES = [["include", "included"], ["include uncertain", "included or uncertain"]];

let changed = () => {};
let passes = PASSES[0][0]; // what goes on from the screening
let stages = []; // { id, kind, values }
let made = 0;

const judges = (stage) => stage?.kind === "judge";

const show = () => {
  at("review-title").required = stages.length > 0; // a batch of no review has no stages
  render(html`<${Stages} />`, at("stages"));
};

const take = (next) => {
  stages = next;
  changed();
  show();
};

const change = (id, what) => take(stages.map((stage) => (stage.id === id ? { ...stage, ...what(stage) } : stage)));

const add = () => {
  made += 1;
  take([...stages, { id: `stage-${made}`, kind: "extract", values: { ...FIRST, ...USUAL, least: "" } }]);
  at(`stage-${made}-kind`).focus();
};

const takeAway = (n) => {
  take(stages.filter((_, m) => m !== n));
  say(`Stage ${n + FIRST_NUMBER} is removed.`);
  (at("add-stage") || at("stages-passes")).focus(); // behind a judge no stage is added
};

const swap = (n, by) => {
  const next = [...stages];
  [next[n], next[n + by]] = [next[n + by], next[n]];
  take(next);
  say(`This is now stage ${n + by + FIRST_NUMBER}.`);
  (at(`${next[n + by].id}${by < 0 ? "-up" : "-down"}`) || at(`${next[n + by].id}-kind`)).focus();
};

const Stage = ({ n, stage }) => {
  const { id, kind, values } = stage;
  const name = `stage ${n + FIRST_NUMBER}`;
  const form = { id, values, set: (field, value) => change(id, (now) => ({ values: { ...now.values, [field]: value } })) };
  const [, Parameters] = STAGE_KINDS[kind];
  const last = n === stages.length - 1;
  const offered = Object.entries(STAGE_KINDS).filter(([one]) => one !== "judge" || last);
  const movable = (one, other) => one && other && !judges(one) && !judges(other); // a judge stays the last
  const button = (text, what, act, of) => html`<button type="button" id=${of} aria-label=${what} onClick=${act}>${text}</button>`;
  return html`<fieldset class="new-stage"><legend>Stage ${n + FIRST_NUMBER}</legend>
    <p class="field"><label for=${`${id}-kind`}>Operation</label><select id=${`${id}-kind`} value=${kind} onChange=${(event) => change(id, () => ({ kind: event.target.value }))}>${offered.map(([one, [title]]) => html`<option value=${one}>${title}</option>`)}</select></p>
    <${Parameters} form=${form} />
    ${kind === "score" && !last && html`<${Count} form=${form} name="least" label="Lowest score that passes (empty: every score)" />`}
    <${Model} form=${form} />
    <details><summary>More</summary><div class="side"><${Steered} form=${form} /></div></details>
    <p class="actions">${movable(stages[n - 1], stage) && button("Move earlier", `Move earlier, ${name}`, () => swap(n, -1), `${id}-up`)}
      ${movable(stage, stages[n + 1]) && button("Move later", `Move later, ${name}`, () => swap(n, 1), `${id}-down`)}
      ${button("Remove stage", `Remove ${name}`, () => takeAway(n))}</p></fieldset>`;
};

// Whether people decide without the model's word, which a stage behind them would give away: it begins before they have read.
const readBlind = () => !at("mode-field").hidden && ["pair", "model_second"].includes(at("mode").value);

const Stages = () => html`
  ${stages.length === 0 && html`<p class="small">Optional. Further stages ask more about the records that pass screening, for example to extract data. Without them, the review ends with screening.</p>`}
  ${stages.length > 0 && html`<${Choice} form=${{ id: "stages", values: { passes }, set: (_, value) => { passes = value; take(stages); } }} name="passes" label="Records that pass screening" of=${PASSES} />`}
  ${stages.length > 0 && html`<p class="small">Model, reasoning effort, tier and budget above apply only to screening. Each stage has its own.</p>`}
  ${stages.length > 0 && readBlind() && html`<p class="notice">Stage 2 begins when the model has screened, before people have read. Its list of records reveals which records the model passed, although people read blind.</p>`}
  ${stages.map((stage, n) => html`<${Stage} key=${stage.id} n=${n} stage=${stage} />`)}
  ${stages.length < MOST && !judges(stages.at(-1)) && html`<p class="actions"><button type="button" id="add-stage" onClick=${add}>${stages.length ? "Add another stage" : "Add a stage"}</button></p>`}`;

const ofStage = ({ kind, values }, n) => {
  try {
    return { ...askedOf(kind, values), ...(kind === "score" && n < stages.length - 1 && { at_least: numberOf(values.least) }) };
  } catch (error) {
    throw new Error(`Stage ${n + FIRST_NUMBER}: ${error.message}`);
  }
};

export const severalStages = () => stages.length > 0;

// As the gateway takes them; none without a further stage.
export const stagesOf = () => (stages.length ? { passes: passes.split(" "), stages: stages.map(ofStage) } : {});

// A complaint of the gateway, with a stage under the number that it has here.
export const withStage = (message) => message.replace(/^stages\.(\d+)(\.operation\.\w+)?[.:]\s*/, (_, n) => `Stage ${Number(n) + FIRST_NUMBER}: `);

// Offers them; `tell` hears that something was changed.
export const offerStages = (tell) => {
  changed = tell;
  at("mode").addEventListener("change", show);
  show();
};

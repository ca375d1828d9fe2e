// What a batch would ask, take and cost, with prompts as they would be sent: shown before anything runs.
import { html } from "./ui.js";
import { stageName } from "./views.js";
import { duration, number } from "./words.js";

const DIGITS = 4; // of a cent's part: a call may cost that little

const dollars = (amount) => {
  const n = Number(amount);
  if (n > 0 && n < 0.0001) return "under $0.0001";
  return n >= 1 || n === 0 ? `$${n.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}` : `$${n.toFixed(DIGITS).replace(/0{1,2}$/, "")}`;
};

const Fact = ({ name, value }) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`;

const cost = (run) => (run.cost === null ? "not known" : dollars(run.cost));
const most = (run) => (run.most_cost === null ? "not known" : dollars(run.most_cost));
const ofAllStages = ({ stages, ...first }) => {
  const known = [first, ...stages.map((stage) => stage.dry_run).filter(Boolean)];
  if (known.some((run) => run.most_cost === null)) return "The cost of all stages is not known.";
  const dollarsAtMost = dollars(known.reduce((sum, run) => sum + Math.min(run.most_cost, run.max_cost ?? Infinity), 0));
  return `All stages cost at most ${dollarsAtMost}${known.length > stages.length ? "" : ", plus the judge’s unknown cost"}.`;
};

export const priced = (run) => {
  if (run.stages?.length) return ofAllStages(run);
  return run.cost === null ? "The cost is not known." : `About ${cost(run)}, at most ${most(run)}.`;
};
const calls = (model) => model.questions - (model.cached ?? 0);

const budget = ({ cost: about, max_cost: limit }) => {
  if (limit === null || about === null || !Number(about)) return "";
  const share = Number(limit) / Number(about);
  return share >= 1 ? `The budget of ${dollars(limit)} covers about all of the calls.` : `The budget of ${dollars(limit)} covers about ${Math.floor(100 * share)} % of the calls. Then the batch pauses.`;
};

const unpriced = (model) => model.price === null && (model.model === null ? "The price is not known, because the model is not known." : `The price of ${model.model}${model.tier ? ` at the tier ${model.tier}` : ""} is not known: write it in a file, and name the file in TAMIS_PRICES.`);

const Model = ({ model, alone }) => html`<li>
  ${!alone && html`<strong>${model.model}</strong>: ${number(calls(model))} calls, ${model.cost === null ? "price not known" : `about ${dollars(model.cost)}`}. `}
  ${alone && html`The model is ${model.model === null ? "not known here" : model.model}${model.model_note ? ` (${model.model_note})` : ""}. `}
  About ${number(model.prompt_tokens)} tokens of prompts and ${number(model.answer_tokens)} of answers (${model.basis}; at most ${number(model.most_answer_tokens)}). ${unpriced(model)}
  ${model.cached > 0 && ` Cached answers, which cost nothing: ${number(model.cached)} of ${number(model.questions)}.`}
  ${model.unseen && ` The cache was not checked: ${model.unseen}.`}
  ${Object.entries(model.other_tiers).map(([tier, about]) => ` At the tier ${tier}: about ${dollars(about)}.`)}
  ${` At ${model.duration.bound} it takes ${model.duration.seconds < 1 ? "under a second" : duration(model.duration.seconds)}.`}</li>`;

const sameSystem = (message, first) => message.role === "system" && first.messages.some((one) => one.role === "system" && one.content === message.content);

const Prompts = ({ samples }) => samples.length > 0 && html`<div class="story"><h2>The first ${samples.length === 1 ? "prompt" : `${samples.length} prompts`}, as ${samples.length === 1 ? "it" : "they"} would be sent</h2>
  ${samples.map((sample, n) => html`<details key=${sample.item_id}><summary>Prompt ${n + 1}: ${sample.title || sample.item_id}</summary>
    ${sample.messages.map((message) => n > 0 && sameSystem(message, samples[0]) ? html`<p class="small">${message.role}: as in prompt 1</p>` : html`<h3>${message.role}</h3><pre tabindex="0" role="region" aria-label=${`${message.role}, ${sample.title || sample.item_id}`}>${message.content}</pre>`)}</details>`)}</div>`;

const Takes = ({ run }) => html`<ul class="small">${run.models.map((model) => html`<${Model} model=${model} alone=${run.models.length === 1} />`)}
    ${run.models.some((model) => model.more_rounds) && html`<li>These are the calls of the first round. Later rounds depend on the answers.</li>`}
    <li>Retries and repairs of unusable answers are not included.</li></ul>
  <${Prompts} samples=${run.models[0].samples} />`;

const Further = ({ n, stage: { name, dry_run: run } }) => html`<section class="dry-run-stage"><h2>${stageName(n, name)}</h2>
  ${run === null ? html`<p>The number of records is not known before the earlier stages end.</p>` : html`
    <p>At most, if every record passes the earlier stages: ${number(run.calls)} ${run.calls === 1 ? "call" : "calls"}, ${run.cost === null ? "price not known" : `about ${cost(run)}, at most ${most(run)}`}. ${budget(run)}</p>
    <details><summary>Prompts and estimate</summary><${Takes} run=${run} /></details>`}</section>`;

const leftOfFiles = (run) => `Of ${number(run.records)} records, ${number(run.duplicates)} ${run.duplicates === 1 ? "is" : "are"} removed as copies, and the initial filter rejects ${number(run.rejected)}. ${run.lost > 0 ? `${number(run.lost)} more could not be read. ` : ""}`;

// `left` says what is not asked about; `what` is asked about.
export const Run = ({ run, left = leftOfFiles(run), what = "records to ask about" }) => {
  const slowest = Math.max(...run.models.map((model) => model.duration.seconds));
  return html`${run.stages?.length > 0 && html`<h2>${stageName(0, "inclusion")}</h2>`}<dl class="headline">
      <${Fact} name=${what} value=${number(run.asked)} /><${Fact} name="calls" value=${number(run.calls)} />
      <${Fact} name="dollars, about" value=${cost(run)} /><${Fact} name="dollars, at most" value=${most(run)} />
      <${Fact} name="time, at least" value=${slowest < 1 ? "under 1 s" : duration(slowest)} /></dl>
    <p>${left}${budget(run)}</p>
    <${Takes} run=${run} />
    ${run.stages?.map((stage, n) => html`<${Further} n=${n + 1} stage=${stage} />`)}`;
};

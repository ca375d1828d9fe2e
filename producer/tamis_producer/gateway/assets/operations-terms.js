// How a batch of any operation is run: the fields that all have, and the terms as the gateway takes them.
import { KINDS } from "./operations-kinds.js";
import { Check, Choice, Count, Input } from "./operations-inputs.js";
import { html } from "./ui.js";

const PRIORITIES = ["low", "normal", "high"];
const TIERS = [["", "as the workers are set"], ["standard", "standard"], ["flex", "flex: half the price, slow"], ["priority", "priority"]];
const ONE_ANSWER = '{"id": "answer"}\n'; // where there are no records
const LONGEST_LABEL = 80; // characters of a question that names its batch
const LONGEST_NAME = 200; // characters of a file's name, as the gateway takes them

export const USUAL = { model: "", most: "", effort: "", tier: "", priority: "normal", label: "", cache: true, copies: false, strict: false };

// `named`: what it is called where nobody says it; `children` stand below the fields that are seldom needed.
export const How = ({ form, named, children }) => html`
  <div class="side"><${Input} form=${form} name="model" label="Model, if not the workers’ own" spellcheck="false" /><${Count} form=${form} name="most" label="Budget in dollars; none if empty" min="0" /></div>
  <details><summary>More</summary>
    <${Input} form=${form} name="label" label=${`Name of the batch; ${named} if empty`} maxlength="500" />
    <div class="side"><${Input} form=${form} name="effort" label="Reasoning effort, such as low" spellcheck="false" /><${Choice} form=${form} name="tier" label="Tier" of=${TIERS} />
    <${Choice} form=${form} name="priority" label="Priority where batches wait" of=${PRIORITIES.map((one) => [one, one])} /></div>
    <${Check} form=${form} name="cache" label="Take answers that were given before" />
    ${children}</details>`;

export const OfFiles = ({ form }) => html`
  <${Check} form=${form} name="copies" label="Ask about every copy of a record" />
  <${Check} form=${form} name="strict" label="A record that cannot be read is an error; else it is left out, and said" />`;

const steering = ({ effort, tier }) => ({ ...(effort.trim() ? { reasoning_effort: effort.trim() } : {}), ...(tier ? { tier } : {}) });

const named = (values, files) => values.label.trim() || (files.length ? null : values.asked.trim().slice(0, LONGEST_LABEL));

// The terms of a batch of any operation, as the gateway takes them.
export const termsOf = (operation, values) => ({
  operation, model: values.model.trim() || null, max_cost: values.most || null, label: values.label.trim() || null, priority: values.priority,
  use_cache: values.cache, steering: steering(values),
});

// The form that both the dry run and the submission send.
export const formOf = (kind, values, files) => {
  const [, , parameters] = KINDS[kind];
  const operation = { operation: kind, ...parameters(values) };
  const terms = { ...termsOf(operation, values), label: named(values, files), keep_duplicates: values.copies, strict: values.strict };
  const body = new FormData();
  body.append("terms", JSON.stringify(terms));
  for (const file of files.length ? files : [new File([ONE_ANSWER], "answer.jsonl")]) body.append("file", file, file.name.slice(0, LONGEST_NAME));
  return body;
};

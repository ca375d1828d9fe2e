// How a batch of any operation is run: the fields that all have, and the terms as the gateway takes them.
import { STAGE_KINDS } from "./operations-kinds.js";
import { Check, Choice, Count, Input } from "./operations-inputs.js";
import { html } from "./ui.js";

const PRIORITIES = ["low", "normal", "high"];
const TIERS = [["", "the workers’ default"], ["standard", "standard"], ["flex", "flex: half the price, slow"], ["priority", "priority"]];
const ONE_ANSWER = '{"id": "answer"}\n'; // where there are no records
const LONGEST_LABEL = 80; // characters of a question that names its batch
const LONGEST_NAME = 200; // characters of a file's name, as the gateway takes them

export const USUAL = { model: "", most: "", effort: "", tier: "", priority: "normal", label: "", cache: true, copies: false, strict: false, encoding: "" };

export const Model = ({ form }) => html`<div class="side"><${Input} form=${form} name="model" label="Model (empty: the workers’ default)" spellcheck="false" /><${Count} form=${form} name="most" label="Budget in dollars (empty: no limit)" min="0" /></div>`;

export const Steered = ({ form }) => html`<${Input} form=${form} name="effort" label="Reasoning effort, such as low" spellcheck="false" /><${Choice} form=${form} name="tier" label="Tier" of=${TIERS} />`;

// `named`: what it is called where nobody says it; `children` stand below the fields that are seldom needed.
export const How = ({ form, named, children }) => html`<${Model} form=${form} />
  <details><summary>More</summary>
    <${Input} form=${form} name="label" label=${`Name of the batch (empty: ${named})`} maxlength="500" />
    <div class="side"><${Steered} form=${form} />
    <${Choice} form=${form} name="priority" label="Priority among waiting batches" of=${PRIORITIES.map((one) => [one, one])} /></div>
    <${Check} form=${form} name="cache" label="Use cached answers" />
    ${children}</details>`;

export const OfFiles = ({ form }) => html`
  <${Check} form=${form} name="copies" label="Ask about every copy of a record" />
  <${Check} form=${form} name="strict" label="Refuse files with unreadable records instead of skipping the records" />
  <${Input} form=${form} name="encoding" label="Encoding of files that are not UTF-8, such as mac_roman (empty: a guess)" maxlength="40" spellcheck="false" />`;

const steering = ({ effort, tier }) => ({ ...(effort.trim() ? { reasoning_effort: effort.trim() } : {}), ...(tier ? { tier } : {}) });

const named = (values, files) => values.label.trim() || (files.length ? null : values.asked.trim().slice(0, LONGEST_LABEL));

// What is asked, of which model, and for how much at most: of a stage, or of a batch.
export const askedOf = (kind, values) => {
  const [, , parameters] = STAGE_KINDS[kind];
  return { operation: { operation: kind, ...parameters(values) }, model: values.model.trim() || null, max_cost: values.most || null, steering: steering(values) };
};

// The terms of a batch of any operation, as the gateway takes them.
export const termsOf = (kind, values) => ({ ...askedOf(kind, values), label: values.label.trim() || null, priority: values.priority, use_cache: values.cache });

// The form that both the dry run and the submission send.
export const formOf = (kind, values, files) => {
  const terms = { ...termsOf(kind, values), label: named(values, files), keep_duplicates: values.copies, strict: values.strict, encoding: values.encoding.trim() || null };
  const body = new FormData();
  body.append("terms", JSON.stringify(terms));
  for (const file of files.length ? files : [new File([ONE_ANSWER], "answer.jsonl")]) body.append("file", file, file.name.slice(0, LONGEST_NAME));
  return body;
};

// The operations that can be asked of records, each with the fields of its form, and with what they come to.
import { Fields, fieldsOf, NO_FIELD } from "./operations-fields.js";
import { Check, Choice, Count, Input, linesOf, numberOf, Text } from "./operations-inputs.js";
import { html } from "./ui.js";

const POLICIES = ["unanimous-exclude", "any", "majority", "mean"];
const OUTPUTS = [["text", "text"], ["number", "a number"], ["boolean", "yes or no"], ["enum", "one of several values"]];

// What a form begins with; the question stays where another operation is chosen.
export const FIRST = {
  asked: "", reasoning: true, graded: false, models: "", policy: "",
  low: "0", high: "1", interval: "", output: "text", choices: "",
  described: "table", fields: [NO_FIELD], schema: "", single: "",
  format: "", good: "", tries: "3", threshold: "0.8", attempts: "1",
  noun: "Abstract", block: "0.15",
};

const Reasoning = ({ form }) => html`<${Check} form=${form} name="reasoning" label="Ask for an explanation with every answer" />`;

const Panel = ({ form }) => html`<details><summary>A panel of several models</summary>
  <${Text} form=${form} name="models" label="Models, one per line (empty: the model below)" spellcheck="false" />
  <div class="side"><${Choice} form=${form} name="policy" label="How it decides" of=${[["", "default"], ...POLICIES.map((one) => [one, one])]} /></div></details>`;

const panelOf = ({ models, policy }) => {
  const named = linesOf(models);
  if (!named.length && policy) throw new Error("A panel needs models: name them, one per line.");
  return named.length ? { models: named, policy: policy || "unanimous-exclude" } : null;
};

const FilterForm = ({ form }) => html`
  <${Text} form=${form} name="asked" label="The question, answered with yes or no" about="For example: Is this about oncology?" required />
  <${Reasoning} form=${form} /><${Check} form=${form} name="graded" label="Have the model grade each record’s relevance from 0 to 100, too" /><${Panel} form=${form} />`;

const ScoreForm = ({ form }) => html`
  <${Text} form=${form} name="asked" label="What to rate" about="For example: Rate the methodological quality." required />
  <div class="side"><${Count} form=${form} name="low" label="Lowest score" required /><${Count} form=${form} name="high" label="Highest score" required />
  <${Count} form=${form} name="interval" label="Step between scores (empty: any)" min="0" /></div><${Reasoning} form=${form} />`;

const ExtractForm = ({ form }) => html`
  <${Text} form=${form} name="asked" label="What to extract" about="For example: How many people took part? The value is empty if the record does not have it." required />
  <${Choice} form=${form} name="output" label="The value is" of=${OUTPUTS} />
  ${form.values.output === "enum" && html`<${Text} form=${form} name="choices" label="Its values, one per line" rows=${3} required />`}<${Reasoning} form=${form} />`;

const FieldsForm = ({ form }) => html`
  <${Text} form=${form} name="asked" label="What to extract, in general" about="For example: What the record says about the trial." required />
  <${Fields} form=${form} /><${Reasoning} form=${form} />`;

const AnswerForm = ({ form }) => html`
  <${Text} form=${form} name="asked" label="The question or the task" about="Asked about each record. Without a file of records, it is answered once." required />
  <${Input} form=${form} name="format" label="How the answer should look" required /><${Text} form=${form} name="good" label="What makes an answer good" required />
  <div class="side"><${Count} form=${form} name="tries" label="How often to try, 1 to 10" min="1" max="10" step="1" required />
  <${Count} form=${form} name="threshold" label="Score that is good enough, 0 to 1" min="0" max="1" required />
  <${Count} form=${form} name="attempts" label="Parallel answers, 1 to 10" min="1" max="10" step="1" required /></div>`;

// By the operation's name: what it is called, its form, and its parameters.
export const KINDS = {
  filter: ["Filter: one yes/no question", FilterForm, (v) => ({ criteria: v.asked, include_reasoning: v.reasoning, graded: v.graded, panel: panelOf(v) })],
  score: ["Score: a rating on a scale", ScoreForm, (v) => ({ criteria: v.asked, min_value: numberOf(v.low), max_value: numberOf(v.high), interval: numberOf(v.interval), include_reasoning: v.reasoning })],
  extract: ["Extract: one value", ExtractForm, (v) => ({ instruction: v.asked, output_type: v.output, enum_values: v.output === "enum" ? linesOf(v.choices) : null, include_reasoning: v.reasoning })],
  extract_fields: ["Extract several fields", FieldsForm, (v) => ({ instructions: v.asked, ...fieldsOf(v), include_reasoning: v.reasoning })],
  answer: ["Answer: a text, refined until it is good enough", AnswerForm, (v) => ({ instruct: v.asked, resp_format: v.format, eval_crit: v.good, iter_max: numberOf(v.tries), score_threshold: numberOf(v.threshold), parallel_attempts: numberOf(v.attempts) })],
};

const JudgeForm = ({ form }) => html`
  <${Text} form=${form} name="asked" label="Guidelines: which evidence counts" about="For example: Only words of the abstract itself are evidence." rows=${4} required />
  <div class="side"><${Input} form=${form} name="noun" label="Noun for numbered references, such as Abstract" maxlength="40" required /><${Count} form=${form} name="block" label="Evidence below this quality blocks a result, 0 to 1" min="0" max="1" required /></div>`;

// Those that can be a stage of a review: a judge needs a stage before it.
export const STAGE_KINDS = { ...KINDS, judge: ["Judge: the evidence behind each answer of the previous stage", JudgeForm, (v) => ({ guidelines: v.asked, noun: v.noun, block_threshold: numberOf(v.block) })] };

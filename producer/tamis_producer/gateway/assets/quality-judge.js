// The reasoning of the batch's results, judged as a batch of its own.
import { ask } from "./api.js";
import { useDryRunFirst } from "./dry-run-first.js";
import { rehearsed, Seen, submitted } from "./operations-dry-run.js";
import { Count, Input, numberOf, Text, useWrong } from "./operations-inputs.js";
import { How, termsOf, USUAL } from "./operations-terms.js";
import { Closed, Problem } from "./quality-parts.js";
import { html, useState } from "./ui.js";
import { number } from "./words.js";

const FIRST = { guidelines: "", noun: "Abstract", threshold: "0.15", ...USUAL };

const judgeOf = ({ guidelines, noun, threshold }) => ({ operation: "judge", guidelines, noun, block_threshold: numberOf(threshold) });

const resultsOf = (n) => `${number(n)} ${n === 1 ? "result" : "results"}`;

const leftOf = ({ records, asked }) => `Of ${resultsOf(records)} ${number(records - asked)} ${records - asked === 1 ? "is" : "are"} not judged: without a reason, or with a person’s decision in its place. `;

// The fields of the form, by the names of the terms.
const FIELDS = { guidelines: "guidelines", noun: "noun", block_threshold: "threshold", model: "model", max_cost: "most", label: "label" };

// What is wrong, and beside which field; beside none: `name` is empty.
const wrongOf = (text) => {
  const [, term, said] = text.match(/^\/body\/(?:operation\/)?(\w+): (?:Value error, )?(.*)$/) || [];
  return FIELDS[term] ? { name: FIELDS[term], text: said } : { name: "", text };
};

const Judging = ({ path }) => {
  const [values, setValues] = useState(FIRST);
  const [wrong, setWrong] = useState(null);
  const asked = (route, headers = {}) => ask(`${path}/judgement${route}`, { method: "POST", headers, json: termsOf(judgeOf(values), values) });
  const { found, busy, changed, send } = useDryRunFirst({
    dryRun: () => rehearsed(asked("/dry-run")),
    submit: (headers) => submitted(asked("", headers)),
    tell: (error) => setWrong(error && wrongOf(error.message)),
  });
  useWrong(wrong);
  const form = { values, wrong, set: (name, value) => { changed(); setValues((now) => ({ ...now, [name]: value })); } };
  return html`<form class="form operations" onSubmit=${send} aria-label="Judge the reasoning">
    <${Text} form=${form} name="guidelines" label="Guidelines: which evidence counts" about="For example: Only words of the abstract itself are evidence." rows=${4} required />
    <div class="side"><${Input} form=${form} name="noun" label="What a reasoning cites by number" maxlength="40" required /><${Count} form=${form} name="threshold" label="Evidence below this quality blocks a result, 0 to 1" min="0" max="1" required /></div>
    <${How} form=${form} named="“judgement of” and the name of this one" />
    <${Problem} text=${!wrong?.name && wrong?.text} />
    <${Seen} found=${found} busy=${busy} deed=${found && `Judge ${resultsOf(found.asked)}`} left=${found && leftOf(found)} what="results to judge" /></form>`;
};

export const Judge = ({ path, finished, submit }) => {
  if (!finished) return html`<p>Its reasoning can be judged once the batch is finished.</p>`;
  if (!submit) return html`<p>Whoever has a key with the scope <code>submit</code> can have it judged.</p>`;
  return html`<${Closed} text="Have a model judge it"><${Judging} path=${path} /><//>`;
};

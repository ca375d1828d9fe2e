// The reasoning of the batch's results, judged as a batch of its own.
import { ask } from "./api.js";
import { useDryRunFirst } from "./dry-run-first.js";
import { rehearsed, Seen, submitted } from "./operations-dry-run.js";
import { useWrong } from "./operations-inputs.js";
import { FIRST, STAGE_KINDS } from "./operations-kinds.js";
import { How, termsOf, USUAL } from "./operations-terms.js";
import { Closed, Problem } from "./quality-parts.js";
import { html, useState } from "./ui.js";
import { number } from "./words.js";

const [, JudgeForm] = STAGE_KINDS.judge;

const resultsOf = (n) => `${number(n)} ${n === 1 ? "result" : "results"}`;

const leftOf = ({ records, asked }) => records === asked ? "" : `Of ${resultsOf(records)}, ${number(records - asked)} ${records - asked === 1 ? "is" : "are"} not judged: no reason was given, or a person’s decision replaces the result. `;

// The fields of the form, by the names of the terms.
const FIELDS = { guidelines: "asked", noun: "noun", block_threshold: "block", model: "model", max_cost: "most", label: "label" };

// What is wrong, and beside which field; beside none: `name` is empty.
const wrongOf = (text) => {
  const [, term, said] = text.match(/^\/body\/(?:operation\/)?(\w+): (?:Value error, )?(.*)$/) || [];
  return FIELDS[term] ? { name: FIELDS[term], text: said } : { name: "", text };
};

const Judging = ({ path }) => {
  const [values, setValues] = useState({ ...FIRST, ...USUAL });
  const [wrong, setWrong] = useState(null);
  const asked = (route, headers = {}) => ask(`${path}/judgement${route}`, { method: "POST", headers, json: termsOf("judge", values) });
  const { found, busy, changed, send } = useDryRunFirst({
    dryRun: () => rehearsed(asked("/dry-run")),
    submit: (headers) => submitted(asked("", headers)),
    tell: (error) => setWrong(error && wrongOf(error.message)),
  });
  const form = { id: "operation", values, wrong, set: (name, value) => { changed(); setValues((now) => ({ ...now, [name]: value })); } };
  useWrong(form);
  return html`<form class="form operations" onSubmit=${send} aria-label="Judge the reasoning">
    <${JudgeForm} form=${form} />
    <${How} form=${form} named="“judgement of” and this batch’s name" />
    <${Problem} text=${!wrong?.name && wrong?.text} />
    <${Seen} found=${found} busy=${busy} deed=${found && `Judge ${resultsOf(found.asked)}`} left=${found && leftOf(found)} what="results to judge" /></form>`;
};

export const Judge = ({ path, finished, submit }) => {
  if (!finished) return html`<p>You can judge the reasoning once the batch is finished.</p>`;
  if (!submit) return html`<p>To have the reasoning judged, use a key with the scope <code>submit</code>.</p>`;
  return html`<${Closed} text="Have a model judge it"><${Judging} path=${path} /><//>`;
};

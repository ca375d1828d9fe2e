// How people read the batch: who sees whose decisions, who has set it, and setting it.
import { ask } from "./api.js";
import { html, useEffect, useState } from "./ui.js";
import { say } from "./words.js";

// What each is called, and what it hides.
export const MODES = {
  single: ["Openly", "Everyone sees all decisions, including the model’s, from the beginning."],
  pair: ["In pairs, blind", "A record’s decisions, including the model’s, are hidden until two people have decided on it."],
  model_second: ["The model as the second reader", "A record’s decisions are hidden from each person until they have decided on it. If the model differs, that is a conflict."],
  model_audited: ["The model decides, people audit it", "Work shows a random sample of the model’s exclusions. Decisions on a sampled record are hidden until a person has judged it. The result is an upper bound on the records that the model missed."],
};

const setWords = ({ set_by: by, set_at: at }) => (by ? `Set by ${by}, ${new Date(at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" })}.` : "This is the default mode.");

export const Mode = ({ path, control }) => {
  const [now, setNow] = useState(null);
  const [chosen, choose] = useState(null);
  const [problem, setProblem] = useState("");
  const told = (found) => {
    setNow(found);
    choose(found.mode);
  };
  useEffect(() => {
    ask(`${path}/mode`).then((answer) => answer.json()).then(told, (error) => setProblem(error.message));
  }, []);
  const set = async (event) => {
    event.preventDefault();
    setProblem("");
    try {
      told(await (await ask(`${path}/mode`, { method: "PUT", json: { mode: chosen } })).json());
      say(`The screening mode is now: ${MODES[chosen][0].toLowerCase()}.`);
    } catch (error) {
      setProblem(error.message);
    }
  };
  return html`<section aria-labelledby="run-mode-heading">
    <h2 id="run-mode-heading">Screening mode</h2>
    ${problem && html`<p class="notice" role="alert">${problem}</p>`}
    ${now && html`<form onSubmit=${set} aria-labelledby="run-mode-heading">
      ${Object.entries(MODES).map(([mode, [name, hides]]) => html`<p class="run-mode" key=${mode}>
        <input type="radio" name="mode" id=${`run-mode-${mode}`} value=${mode} checked=${chosen === mode} disabled=${!control} onChange=${() => choose(mode)} aria-describedby=${`run-hides-${mode}`} />
        <label for=${`run-mode-${mode}`}>${name}</label> <span class="small" id=${`run-hides-${mode}`}>${hides}</span></p>`)}
      <p class="small">${setWords(now)} While a record is hidden from you, you cannot open the figure, the report or result files.</p>
      ${control && html`<p><button type="submit" disabled=${chosen === now.mode}>Set screening mode</button></p>`}</form>`}</section>`;
};

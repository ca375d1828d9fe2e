// Smaller parts of the Run view: the batch's priority, and the labels on its records.
import { ask } from "./api.js";
import { html, useEffect, useState } from "./ui.js";
import { addressOf } from "./views.js";
import { number, say } from "./words.js";

const PRIORITIES = ["low", "normal", "high"];

const Problem = ({ text }) => text && html`<p class="notice" role="alert">${text}</p>`;

export const Priority = ({ path, now }) => {
  const [chosen, choose] = useState(now);
  const [problem, setProblem] = useState("");
  const set = async (event) => {
    event.preventDefault();
    setProblem("");
    try {
      await ask(`${path}/priority`, { method: "PUT", json: { priority: chosen } });
      say(`The priority is now ${chosen}.`);
    } catch (error) {
      setProblem(error.message);
    }
  };
  return html`<section aria-labelledby="run-priority-heading"><h2 id="run-priority-heading">Priority</h2><form class="actions" onSubmit=${set}>
    <label for="run-priority">Priority of this batch</label>
    <select id="run-priority" value=${chosen} onChange=${(event) => choose(event.target.value)}>${PRIORITIES.map((one) => html`<option value=${one}>${one}</option>`)}</select>
    <button type="submit">Set priority</button></form><${Problem} text=${problem} /></section>`;
};

export const Labels = ({ path, id }) => {
  const [found, setFound] = useState(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    ask(`${path}/labels`).then((answer) => answer.json()).then(({ items }) => setFound(items), (error) => setProblem(error.message));
  }, []);
  return html`<section aria-labelledby="run-labels-heading"><h2 id="run-labels-heading">Labels</h2><${Problem} text=${problem} />
    ${found && (found.length ? html`<ul class="run-labels">${found.map(({ label, n }) => html`<li><a href=${`${addressOf(id, "work")}&show=all&label=${encodeURIComponent(label)}`}>${label}</a> <span class="small">${number(n)} ${n === 1 ? "record" : "records"}</span></li>`)}</ul>` : html`<p>No record has a label. In Work, press L to add one.</p>`)}</section>`;
};

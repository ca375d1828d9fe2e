// What one looks at or does now and then: priority, failures, agreement, audits, labels. Each is read when it is opened.
import { ask } from "/assets/api.js";
import { Audits } from "/assets/more-audits.js";
import { Labels } from "/assets/more-labels.js";
import { html, render, useState } from "/assets/ui.js";
import { number, say } from "/assets/words.js";

const DECIDES = ["inclusion", "filter"];
const PRIORITIES = ["low", "normal", "high"];

const share = (value) => (value === null ? "–" : `${(100 * value).toFixed(1)} %`);
const ranged = (value, low, high) => (value === null ? "–" : `${value.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`);

const Problem = ({ text }) => text && html`<p class="notice" role="alert">${text}</p>`;

// A part that asks `read` once it is opened, and shows what comes by `children`.
const Part = ({ name, read, children }) => {
  const [got, setGot] = useState({});
  const opened = async (event) => {
    if (!event.currentTarget.open || got.found) return;
    try {
      setGot({ found: read ? await read() : {} });
    } catch (error) {
      setGot({ problem: error.message });
    }
  };
  return html`<details onToggle=${opened}><summary>${name}</summary><${Problem} text=${got.problem} />${got.found && children(got.found)}</details>`;
};

const Priority = ({ path, now }) => {
  const [chosen, choose] = useState(now);
  const [problem, setProblem] = useState("");
  const set = async (event) => {
    event.preventDefault();
    setProblem("");
    try {
      await ask(`${path}/priority`, { method: "PUT", json: { priority: chosen } });
      say(`Its priority is ${chosen}.`);
    } catch (error) {
      setProblem(error.message);
    }
  };
  return html`<form class="actions" onSubmit=${set}>
    <label for="more-priority">Where batches wait for each other</label>
    <select id="more-priority" value=${chosen} onChange=${(event) => choose(event.target.value)}>${PRIORITIES.map((one) => html`<option value=${one}>${one}</option>`)}</select>
    <button type="submit">Set the priority</button></form><${Problem} text=${problem} />`;
};

const Failures = ({ found }) =>
  found.rounds.length === 0
    ? html`<p>No item failed.</p>`
    : found.rounds.map((one) => html`<p><strong>Round ${one.round}:</strong> ${number(one.failed)} of ${number(one.evaluated)} failed${Object.keys(one.kinds).length ? `: ${Object.entries(one.kinds).map(([kind, n]) => `${kind} ${number(n)}`).join(", ")}` : ""}.</p>
        <ul class="small">${one.comparisons.map((each) => html`<li>${each.sentence}</li>`)}</ul>`);

const Agreed = ({ name, one }) => html`<tr><th scope="row">${name}</th><td class="number">${number(one.n)}</td><td class="number">${share(one.observed)}</td><td class="number">${ranged(one.kappa, one.kappa_low, one.kappa_high)}</td><td class="number">${ranged(one.ac1, one.ac1_low, one.ac1_high)}</td></tr>`;

const Agreement = ({ found }) => html`<table class="plain">
  <caption class="hidden">Agreement on the records that both decided</caption>
  <thead><tr><th scope="col">Who</th><th scope="col" class="number">Records</th><th scope="col" class="number">Agree</th><th scope="col" class="number">Cohen's kappa</th><th scope="col" class="number">Gwet's AC1</th></tr></thead>
  <tbody>
    <${Agreed} name="software and people, overridden or confirmed" one=${found.overrides} />
    <${Agreed} name="software and people, audited exclusions" one=${found.audits} />
    ${found.people.map((pair) => html`<${Agreed} name=${`${pair.first} and ${pair.second}`} one=${pair.agreement} />`)}
  </tbody></table>
  <p class="small">Overridden records are no random sample; audited ones are, of exclusions alone.</p>`;

export const showMore = (batch, scopes, element) => {
  const path = `/v1/batches/${encodeURIComponent(batch.id)}`;
  const get = (what) => async () => (await ask(`${path}/${what}`)).json();
  const decides = DECIDES.includes(batch.operation);
  render(
    html`${scopes.has("control") && html`<${Part} name="Priority">${() => html`<${Priority} path=${path} now=${batch.priority} />`}<//>`}
      <${Part} name="What failed" read=${get("failures")}>${(found) => html`<${Failures} found=${found} />`}<//>
      ${decides && html`<${Part} name="Agreement" read=${get("agreement")}>${(found) => html`<${Agreement} found=${found} />`}<//>
        <${Part} name="Audit of exclusions" read=${get("audits")}>${(found) => html`<${Audits} path=${path} first=${found} decide=${scopes.has("decide")} />`}<//>
        <${Part} name="Evaluate by labels">${() => html`<${Labels} path=${path} />`}<//>`}`,
    element,
  );
};

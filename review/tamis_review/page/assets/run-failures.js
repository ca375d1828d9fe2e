// What failed in each round, by kind, and asking again.
import { ask } from "./api.js";
import { html, useEffect, useState } from "./ui.js";
import { number } from "./words.js";

const plain = (kind) => kind.replaceAll("_", " ");

const Round = ({ one }) => html`<tr><th scope="row">${one.round}</th><td class="number">${number(one.evaluated)}</td><td class="number">${number(one.failed)}</td>
  <td>${Object.entries(one.kinds).map(([kind, n]) => html`<span class="run-kind">${plain(kind)} ${number(n)}</span>`)}</td></tr>`;

// Only what can be retried is offered: kinds that have failed in some round, and what was cancelled.
const Retry = ({ batch, kinds, retry }) => {
  const { failed, cancelled } = batch.counts;
  const send = (event) => {
    event.preventDefault();
    const { kind, again, most } = event.target.elements;
    retry({
      kinds: kind?.value ? [kind.value] : null,
      cancelled: again?.checked ?? false,
      max_cost: most?.value || null,
    });
  };
  return html`<form class="actions" onSubmit=${send} aria-label="Retry">
    ${failed > 0 && html`<label for="run-kind">Records to retry</label>
      <select id="run-kind" name="kind"><option value="">${failed === 1 ? "the failed record" : `all ${number(failed)} failed records`}</option>${kinds.map((kind) => html`<option value=${kind}>only ${plain(kind)}</option>`)}</select>`}
    ${cancelled > 0 && html`<span class="field check"><input type="checkbox" id="run-cancelled" name="again" defaultChecked=${failed === 0} /><label for="run-cancelled">the ${number(cancelled)} cancelled ${cancelled === 1 ? "record" : "records"}</label></span>`}
    ${batch.budget && html`<label for="run-most">New budget in dollars (empty: unchanged)</label><input type="number" id="run-most" name="most" min="0" step="any" />`}
    <button type="submit">Retry</button></form>`;
};

export const Failures = ({ path, standing, retry }) => {
  const { batch, finished } = standing;
  const [found, setFound] = useState(null);
  const [problem, setProblem] = useState("");
  // Read once for each state and round: it is worked out from all results, and a batch that runs changes many times a second.
  const read = () => ask(`${path}/failures`).then((answer) => answer.json()).then(({ rounds }) => setFound({ rounds, of: batch.counts.failed }), (error) => setProblem(error.message));
  useEffect(() => {
    read();
  }, [batch.state, batch.round]);
  const rounds = found?.rounds || [];
  const kinds = [...new Set(rounds.flatMap((one) => Object.keys(one.kinds)))];
  const more = found && found.of !== batch.counts.failed;
  return html`<section aria-labelledby="run-failures-heading">
    <h2 id="run-failures-heading">Failures</h2>
    ${problem && html`<p class="notice" role="alert">${problem}</p>`}
    ${found && (rounds.some((one) => one.failed) ? html`<div class="run-scroll" tabindex="0" role="group" aria-label="Failures by round"><table class="plain">
      <caption class="hidden">Failures by round and kind</caption>
      <thead><tr><th scope="col">Round</th><th scope="col" class="number">Evaluated</th><th scope="col" class="number">Failed</th><th scope="col">Kinds</th></tr></thead>
      <tbody>${rounds.map((one) => html`<${Round} key=${one.round} one=${one} />`)}</tbody></table></div>
      ${rounds.map((one) => one.comparisons.length > 0 && html`<p>Round ${one.round}:</p><ul class="small">${one.comparisons.map((each) => html`<li>${each.sentence}</li>`)}</ul>`)}` : html`<p>No record failed.</p>`)}
    ${more && html`<p><button type="button" onClick=${read}>Reload failures: ${number(batch.counts.failed)} by now</button></p>`}
    ${retry && finished && batch.counts.failed + batch.counts.cancelled > 0 && html`<${Retry} batch=${batch} kinds=${kinds} retry=${retry} />`}</section>`;
};

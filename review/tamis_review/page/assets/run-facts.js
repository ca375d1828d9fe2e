// What a batch is, what it has used, and who works: figures that stand beside its progress.
import { html } from "./ui.js";
import { duration, number } from "./words.js";

const when = (at) => at && new Date(at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
const dollars = (amount) => `$${amount.toFixed(2)}`;

const budgetOf = ({ max_cost: most, spent, reserved }) => `${dollars(spent)} of ${dollars(most)} spent, ${dollars(reserved)} reserved for calls in flight`;

const workersOf = (batch) => {
  const idle = batch.not_working.length;
  return `${number(batch.live_workers)}${idle ? `, ${number(idle)} of them not working` : ""}`;
};

const factsOf = (batch) => [
  ["Operation", batch.operation.replaceAll("_", " ")],
  ["Model", batch.model || "the workers’ default"],
  ["Priority", batch.priority],
  ["Round", number(batch.round)],
  ["Submitted", when(batch.created_at)],
  ["Began", when(batch.started_at)],
  ["Ended", when(batch.finished_at)],
  ["Running for", batch.elapsed_seconds === null ? null : duration(batch.elapsed_seconds)],
  ["Tokens", `${number(batch.prompt_tokens)} in, ${number(batch.completion_tokens)} out`],
  ["Budget", batch.budget ? budgetOf(batch.budget) : "none"],
  ["Workers, for all batches", workersOf(batch)],
];

export const Facts = ({ batch, flower }) => html`<section aria-labelledby="run-facts-heading">
  <h2 id="run-facts-heading">This run</h2>
  <dl class="run-facts">${factsOf(batch).filter(([, text]) => text).map(([name, text]) => html`<div><dt>${name}</dt><dd>${text}</dd></div>`)}</dl>
  ${flower && html`<p><a href=${flower} rel="noreferrer">Tasks in Flower</a></p>`}</section>`;

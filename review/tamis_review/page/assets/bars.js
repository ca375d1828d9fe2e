// How far a batch is: what the model has done, and what people have read. These are two things: two bars, and two words.
import { ask } from "./api.js";
import { html, render } from "./ui.js";
import { decidedByPeople } from "./views.js";
import { done, nameOf, number } from "./words.js";

// States have the colours that decisions have.
const STATES = { pending: "removed", running: "open", paused: "uncertain", completed: "passed", cancelled: "excluded" };

// A batch that ended without all of its decisions is not simply completed, nor is one that waits for people.
const stated = (batch, team) => {
  if (batch.state !== "completed") return [STATES[batch.state], batch.state];
  if (batch.counts.failed) return ["uncertain", `ended, ${number(batch.counts.failed)} failed`];
  if (!decidedByPeople(batch) || team?.open === false) return [STATES.completed, batch.state];
  return team ? ["open", "waits for people"] : ["removed", "model finished"]; // as far as is known
};

export const newsOf = (batch, team) => {
  const [kind, text] = stated(batch, team);
  return batch.state === "completed" && ["open", "removed"].includes(kind) ? `The model has finished ${nameOf(batch)}` : `${nameOf(batch)} is ${text}`;
};

export const showState = (badge, batch, team) => {
  const [kind, text] = stated(batch, team);
  badge.className = `badge ${kind}`;
  if (badge.textContent !== text) badge.textContent = text;
};

export const doneOf = (batch) => {
  const { n_items: all } = batch.counts;
  const model = decidedByPeople(batch) ? (batch.state === "completed" ? "model finished: " : "model: ") : "";
  return `${model}${number(done(batch.counts))} of ${number(all)} done`;
};

const READ = { pair: "read by two people", model_audited: "audit judged by people" };

export const Read = ({ team, of }) => {
  const words = `${READ[team.mode] || "read by people"} ${number(team.read)} of ${number(team.to_read)}`;
  return team.to_read > 0 && html`<progress max=${team.to_read} value=${team.read} aria-label=${of ? `${of}: ${words}` : words}></progress><span>${words}</span>`;
};

export const Done = ({ batch, of }) => html`<progress max=${batch.counts.n_items || 1} value=${done(batch.counts)} aria-label=${`${of}: ${doneOf(batch)}`}></progress><span>${doneOf(batch)}</span>`;

export const teamOf = async (batch) => (await ask(`/v1/batches/${encodeURIComponent(batch.id)}/team`)).json();

// How far people have read; null where nobody reads, or where it may not be said yet.
export const readTeam = async (batch) => (decidedByPeople(batch) ? teamOf(batch).catch(() => null) : null);

export const Bars = ({ batch, team }) => html`<p class="share"><${Done} batch=${batch} of="Model" /></p><p class="share"><${Read} team=${team} /></p>`;

export const showRead = (element, team, of) => {
  element.hidden = !team?.to_read;
  if (team) render(html`<${Read} team=${team} of=${of} />`, element);
};

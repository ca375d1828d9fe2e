// How a batch stands as it goes, and what can be done with it: the same in each view that shows it.
import { ask, follow } from "./api.js";
import { doneOf, newsOf, readTeam, showRead, showState } from "./bars.js";
import { at, calm, cancelling, complain, done, duration, make, nameOf, number, phrased, rate, say, tellLost } from "./words.js";

const LOOK_AGAIN = 3000; // ms after a batch paused itself

const NUMBERS = [
  ["records", (counts) => counts.n_items],
  ["removed before any call", (counts) => counts.excluded_by_filter],
  ["decided", (counts) => counts.decided],
  ["failed", (counts) => counts.failed],
  ["waiting or running", (counts) => counts.pending + counts.running],
  ["cancelled", (counts) => counts.cancelled],
];

const SAID = {
  pause: "Paused. Calls in flight finish; no new call begins.",
  resume: "The batch is resumed.",
  raise: "The new budget is set.",
  cancel: "Cancelled. Results are kept.",
  retry: "The retry has begun.",
};
const ROUTES = { raise: "resume" }; // where it is not called as the action is

const paused = ({ kind, message, until }) => {
  if (kind === "requested") return "Paused. Calls in flight finish; no new call begins until a person resumes the batch.";
  const end = until && new Date(until).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  const remedy = end ? "It resumes by itself; Resume asks the endpoint at once." : kind === "budget" ? "Resume it with a larger budget." : "Fix the cause, then resume it.";
  return `Paused by itself${end ? ` until ${end}` : ""}, ${kind.replaceAll("_", " ")}${message ? `: ${message.replace(/\.$/, "")}` : ""}. ${remedy}`;
};

// Whether this action is offered: to keys that control, where the batch stands so.
export const allowed = ({ batch, finished }, scopes, action) => {
  const open = batch.state === "pending" || batch.state === "running";
  if (!scopes.has("control")) return false;
  if (action === "pause") return open;
  if (action === "resume") return batch.state === "paused";
  if (action === "raise") return open && Boolean(batch.budget);
  if (action === "cancel") return open || batch.state === "paused";
  return finished && batch.counts.failed > 0;
};

const nameCancelling = (batch) => {
  const { question, yes, no } = cancelling(batch);
  at("confirm-text").replaceChildren(...phrased(question));
  at("confirm-yes").textContent = yes;
  at("confirm-no").textContent = no;
};

const tell = (standing, scopes, team) => {
  const { batch } = standing;
  if (at("confirm").open) nameCancelling(batch); // what it says stays true while somebody reads it
  const finished = done(batch.counts);
  at("bar").max = batch.counts.n_items || 1;
  at("bar").value = finished;
  at("done").textContent = doneOf(batch);
  const running = !standing.finished && batch.state !== "paused";
  showState(at("state"), batch, team);
  showRead(at("people"), team);
  at("pace").textContent = [
    batch.round > 1 && `round ${batch.round}`,
    running && standing.rate && [rate(standing.rate), standing.eta_seconds !== null && `about ${duration(standing.eta_seconds)} to go`].filter(Boolean).join(", "),
    `cost ${standing.paid}`,
    batch.budget && `budget $${batch.budget.max_cost.toFixed(2)}`,
    batch.submitted_by && `submitted by ${batch.submitted_by}`,
  ].filter(Boolean).join(" · ");
  at("waits").replaceChildren(...phrased((batch.pause ? paused(batch.pause) : standing.waits_for) || ""));
  at("waits").hidden = !at("waits").textContent;
  at("headline").replaceChildren(
    ...NUMBERS.map(([text, of]) => [text, of(batch.counts)])
      .filter(([text, n]) => n > 0 || text === "decided" || text === "failed")
      .map(([text, n]) => make("div", "", make("dt", "", text), make("dd", "", number(n)))),
  );
  for (const button of document.querySelectorAll("[data-action]")) {
    const hide = !allowed(standing, scopes, button.dataset.action);
    if (hide && button === document.activeElement) at("title").focus({ preventScroll: true }); // never lost
    button.hidden = hide;
  }
  at("budget-field").hidden = !(batch.budget && (allowed(standing, scopes, "resume") || allowed(standing, scopes, "raise")));
};

// Shows it in the section `progress`, and follows it with `keepUp`. `changed(standing)` hears of all news, and of what was done
// here with `true` beside it.
export const progressOf = (id, standing, scopes, changed) => {
  const path = `/v1/batches/${encodeURIComponent(id)}`;
  let following = false;
  let team = null;

  // Asked again where the model got further, and by whoever decides.
  const lookAtPeople = async () => {
    team = await readTeam(standing.batch);
    tell(standing, scopes, team);
  };
  const news = (now, done = false) => {
    if (now.batch.state !== standing.batch.state) lookAtPeople();
    standing = now;
    tell(standing, scopes, team);
    changed(standing, done);
  };

  const keepUp = async () => {
    if (following) return;
    following = true;
    let { state } = standing.batch;
    const told = ({ data }) => {
      news(data);
      if (data.batch.state !== state) say(`${newsOf(data.batch, team)}. ${number(done(data.batch.counts))} of ${number(data.batch.counts.n_items)} done.`);
      state = data.batch.state;
    };
    try {
      for (;;) {
        await follow(`${path}/events`, told, tellLost);
        if (standing.finished) break;
        await new Promise((later) => setTimeout(later, LOOK_AGAIN)); // it paused itself: somebody may resume it elsewhere
      }
    } catch (error) {
      complain(error);
    }
    following = false;
  };

  const act = async (action, json) => {
    calm();
    try {
      news(await (await ask(`${path}/${ROUTES[action] || action}`, { method: "POST", json })).json(), true);
      say(SAID[action]);
    } catch (error) {
      complain(error);
      return;
    }
    keepUp();
  };

  const budget = () => (at("budget").value ? { max_cost: at("budget").value } : undefined);
  const asked = {
    pause: () => act("pause"),
    resume: () => act("resume", budget()),
    raise: () => (budget() ? act("raise", budget()) : at("budget").focus()),
    retry: () => act("retry"),
    cancel: () => {
      nameCancelling(standing.batch);
      at("confirm").showModal();
    },
  };
  for (const button of document.querySelectorAll("[data-action]")) button.addEventListener("click", asked[button.dataset.action]);
  at("confirm-no").addEventListener("click", () => at("confirm").close());
  at("confirm-yes").addEventListener("click", () => {
    at("confirm").close();
    act("cancel");
  });
  tell(standing, scopes, team);
  lookAtPeople();
  return { act, keepUp, lookAtPeople };
};

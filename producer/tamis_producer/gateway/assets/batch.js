// One batch: how it stands, its flow, its decisions, and what can be done with it.
import { ask, download, follow } from "/assets/api.js";
import { decider } from "/assets/deciding.js";
import { explainer } from "/assets/explaining.js";
import { showFlow } from "/assets/flow.js";
import { showMore } from "/assets/more.js";
import { offerOrder } from "/assets/reading.js";
import { at, calm, cancelling, complain, done, duration, make, nameOf, number, phrased, rate, say, showState, stateOf, tellLost } from "/assets/words.js";

const READ_AGAIN = 3000; // ms at least between two reads of flow and table
const DRAW_AFTER = 1000; // ms after the last decision
const SHARE = 5; // and so many times as long as the last one took: a large batch is read more rarely

const NUMBERS = [
  ["records", (counts) => counts.n_items],
  ["kept out before any model", (counts) => counts.excluded_by_filter],
  ["decided", (counts) => counts.decided],
  ["failed", (counts) => counts.failed],
  ["waiting or running", (counts) => counts.pending + counts.running],
  ["cancelled", (counts) => counts.cancelled],
];

const paused = ({ kind, message }) => {
  if (kind === "requested") return "Paused: nothing further begins until somebody resumes it.";
  const remedy = kind === "budget" ? "Resume it with a larger budget." : "Put that right, then resume it.";
  return `Paused by itself, ${kind.replaceAll("_", " ")}${message ? `: ${message.replace(/\.$/, "")}` : ""}. ${remedy}`;
};

const counted = (batch) => JSON.stringify([batch.state, batch.round, batch.counts]);

export const showBatch = async (id, scopes) => {
  const path = `/v1/batches/${encodeURIComponent(id)}`;
  let standing = await (await ask(path)).json();
  let table = null;
  let following = false;

  const allowed = (action) => {
    const { batch } = standing;
    const open = batch.state === "pending" || batch.state === "running";
    if (!scopes.has("control")) return false;
    if (action === "pause") return open;
    if (action === "resume") return batch.state === "paused";
    if (action === "cancel") return open || batch.state === "paused";
    return standing.finished && batch.counts.failed > 0;
  };

  const nameCancelling = () => {
    const { question, yes, no } = cancelling(standing.batch);
    at("confirm-text").replaceChildren(...phrased(question));
    at("confirm-yes").textContent = yes;
    at("confirm-no").textContent = no;
  };

  const tell = () => {
    if (at("confirm").open) nameCancelling(); // what it says stays true while somebody reads it
    const { batch } = standing;
    const finished = done(batch.counts);
    at("bar").max = batch.counts.n_items || 1;
    at("bar").value = finished;
    at("done").textContent = `${number(finished)} of ${number(batch.counts.n_items)} done`;
    const running = !standing.finished && batch.state !== "paused";
    showState(at("state"), batch);
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
      const hide = !allowed(button.dataset.action);
      if (hide && button === document.activeElement) at("title").focus({ preventScroll: true }); // never lost
      button.hidden = hide;
    }
    at("save-report").classList.toggle("main", standing.finished);
    at("budget-field").hidden = !(allowed("resume") && batch.budget);
  };

  // Flow and table, read again where something changed: not more often than they are cheap to read.
  let stale = false;
  let known = ""; // what was counted when they were read last
  let reading = false;
  let decisions = 0; // made here; what was asked for before one of them does not know it
  let pause = READ_AGAIN;
  let readAt = -Infinity;
  const read = async () => {
    if (reading || !stale) return;
    const writing = document.activeElement?.matches("#rows input"); // a note: it would be gone with its row
    const wait = writing ? READ_AGAIN : standing.finished ? 0 : readAt + pause - performance.now();
    if (wait > 0) {
      setTimeout(read, wait);
      return;
    }
    reading = true;
    stale = false;
    known = counted(standing.batch);
    const began = performance.now();
    const before = decisions;
    try {
      const [found] = await Promise.all([ask(`${path}/records`).then((answer) => answer.json()), showFlow(id)]);
      if (found.left_out) leaveOut(found.left_out);
      else if (table === null) begin(found);
      else if (decisions !== before || !table.replace(found.rows)) stale = true; // or somebody writes a note: later
    } catch (error) {
      complain(error);
    }
    readAt = performance.now();
    pause = Math.max(READ_AGAIN, SHARE * (readAt - began));
    reading = false;
    if (stale) setTimeout(read, READ_AGAIN);
  };
  const readAgain = () => {
    stale = true;
    read();
  };
  const leaveOut = (records) => {
    at("left-out").hidden = false;
    at("left-out-n").textContent = number(records);
    document.documentElement.dataset.ready = "true";
  };
  const begin = (found) => {
    const deciding = scopes.has("decide") ? decider(id, found.operation, () => table) : null;
    const explain = explainer(id);
    const below = (row) => make("div", "", ...(deciding ? [deciding.block(row)] : []), explain(row));
    table = decisionTable(found.facts, found.rows, below);
    if (found.operation === "inclusion" || found.operation === "filter") offerOrder(path, table);
    let later;
    deciding?.whenChanged(() => {
      decisions += 1;
      clearTimeout(later); // one drawing for several decisions in a row
      later = setTimeout(() => showFlow(id).catch(complain), DRAW_AFTER);
    });
    document.documentElement.dataset.ready = "true";
  };

  const keepUp = async () => {
    if (following) return;
    following = true;
    let state = standing.batch.state;
    const told = ({ data }) => {
      standing = data;
      tell();
      if (data.batch.state !== state) say(`${nameOf(data.batch)} is ${stateOf(data.batch)}. ${number(done(data.batch.counts))} of ${number(data.batch.counts.n_items)} done.`);
      state = data.batch.state;
      if (counted(data.batch) !== known) readAgain();
    };
    try {
      for (;;) {
        await follow(`${path}/events`, told, tellLost);
        if (standing.finished) break;
        await new Promise((later) => setTimeout(later, READ_AGAIN)); // it paused itself: somebody may resume it elsewhere
      }
    } catch (error) {
      complain(error);
    }
    following = false;
  };

  const act = async (action, json) => {
    calm();
    try {
      standing = await (await ask(`${path}/${action}`, { method: "POST", json })).json();
      say({ pause: "Paused: nothing further begins.", resume: "It goes on.", cancel: "Cancelled; results are kept.", retry: "The failed items are asked about again." }[action]);
    } catch (error) {
      complain(error);
      return;
    }
    tell();
    readAgain();
    keepUp();
  };

  const askToCancel = () => {
    nameCancelling();
    at("confirm").showModal();
  };
  const asked = { pause: () => act("pause"), retry: () => act("retry"), cancel: askToCancel };
  asked.resume = () => act("resume", at("budget").value ? { max_cost: at("budget").value } : undefined);
  for (const button of document.querySelectorAll("[data-action]")) button.addEventListener("click", asked[button.dataset.action]);
  at("confirm-no").addEventListener("click", () => at("confirm").close());
  at("confirm-yes").addEventListener("click", () => {
    at("confirm").close();
    act("cancel");
  });
  for (const button of document.querySelectorAll("[data-download]")) {
    button.addEventListener("click", async () => {
      calm();
      button.disabled = true;
      const name = `${nameOf(standing.batch).replace(/[^\p{L}\p{N}._-]+/gu, "-")}-${standing.batch.id.slice(0, 8)}.${button.dataset.ending}`;
      await download(`${path}/${button.dataset.download}`, name).then(() => say(`${name} is saved.`), complain);
      button.disabled = false;
    });
  }

  at("ways").hidden = !["inclusion", "filter"].includes(standing.batch.operation);
  at("to-work").href = `/?batch=${encodeURIComponent(id)}&view=work`;
  at("batch").hidden = false;
  at("title").textContent = nameOf(standing.batch);
  at("eyebrow").textContent = `Batch ${standing.batch.id}`;
  at("eyebrow").hidden = false;
  document.title = `${nameOf(standing.batch)} – Tamis`;
  tell();
  readAgain();
  showMore(standing.batch, scopes, at("more-parts"));
  await keepUp();
};

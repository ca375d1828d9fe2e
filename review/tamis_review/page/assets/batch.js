// One batch: how it stands, its flow, its decisions, and what can be done with it.
import { ask } from "./api.js";
import { correctable, corrector } from "./correcting.js";
import { decider } from "./deciding.js";
import { queue } from "./decision-queue.js";
import { explainer } from "./explaining.js";
import { showFlow } from "./flow.js";
import { progressOf } from "./progress.js";
import { offerOrder } from "./reading.js";
import { offerFiles } from "./saving.js";
import { decidedByPeople, leadToViews, showPlace } from "./views.js";
import { at, complain, make, nameOf, number } from "./words.js";

const READ_AGAIN = 3000; // ms at least between two reads of flow and table
const DRAW_AFTER = 1000; // ms after the last decision
const SHARE = 5; // and so many times as long as the last one took: a large batch is read more rarely

const counted = (batch) => JSON.stringify([batch.state, batch.round, batch.counts]);

export const showBatch = async (id, scopes) => {
  const path = `/v1/batches/${encodeURIComponent(id)}`;
  let standing = await (await ask(path)).json();
  let table = null;

  // Flow and table, read again where something changed: not more often than they are cheap to read.
  let stale = false;
  let known = ""; // what was counted when they were read last
  let reading = false;
  let decisions = 0; // that arrived; what was asked for before one of them does not know it
  queue.watch((entry) => {
    if (entry?.sent && entry.batch === standing.batch.id) decisions += 1;
  });
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
      const [found] = await Promise.all([ask(`${path}/records`).then((answer) => answer.json()), showFlow(path)]);
      if (found.left_out) leaveOut(found.left_out);
      else if (table === null) begin(found);
      else if (decisions === before && !table.replace(found.rows)) stale = true; // somebody writes a note: later
      if (decisions !== before) stale = true;
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
  // What decides nothing has results and values, no decisions and reasons.
  const callValues = () => {
    at("decisions-heading").textContent = "Results";
    document.querySelector('label[for="by-outcome"]').textContent = "Result";
    document.querySelector('[data-sort="outcome"]').textContent = "Result";
    document.querySelector('[data-sort="reason"]').textContent = "Value";
    document.querySelector('label[for="by-reason"]').textContent = "Reason for no value";
    at("table").classList.add("of-values");
  };
  const leaveOut = (records) => {
    at("left-out").hidden = false;
    at("left-out-n").textContent = number(records);
    document.documentElement.dataset.ready = "true";
  };
  const begin = (found) => {
    if (!decidedByPeople(found)) callValues();
    const write = decidedByPeople(found) ? decider : correctable(found) ? corrector : null;
    const deciding = scopes.has("decide") && write ? write(standing.batch.id, found.operation, () => table) : null;
    const explain = explainer(id);
    const below = (row) => make("div", "", ...(deciding ? [deciding.block(row)] : []), explain(row));
    table = decisionTable(found.facts, found.rows, below);
    if (found.operation === "inclusion" || found.operation === "filter") offerOrder(path, table);
    let later;
    deciding?.whenChanged(() => {
      clearTimeout(later); // one drawing for several decisions in a row
      later = setTimeout(() => {
        showFlow(path).catch(complain);
        progress.lookAtPeople();
      }, DRAW_AFTER);
    });
    document.documentElement.dataset.ready = "true";
  };

  const progress = progressOf(id, standing, scopes, (now, done) => {
    standing = now;
    if (done || counted(now.batch) !== known) readAgain();
  });

  leadToViews(at("views"), standing.batch);
  at("batch").hidden = false;
  at("title").textContent = nameOf(standing.batch);
  showPlace(at("eyebrow"), standing.batch);
  document.title = `${nameOf(standing.batch)} – Tamis`;
  offerFiles(standing.batch, at("saving"));
  readAgain();
  await progress.keepUp();
};

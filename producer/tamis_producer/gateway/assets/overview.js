// Reviews, and the latest batches of none, as they go: one connection for all of them.
import { ask, follow } from "/assets/api.js";
import { reviewsIn } from "/assets/reviews.js";
import { at, complain, done, duration, make, nameOf, number, rate, say, showState, stateOf, tellLost } from "/assets/words.js";

const rows = new Map(); // id -> its row: kept, so that the focus stays where it is
const states = new Map();

const link = (batch) => {
  const to = make("a", "", nameOf(batch));
  to.href = `/?batch=${encodeURIComponent(batch.id)}`;
  return to;
};

const begun = (batch) => {
  const when = new Date(batch.created_at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  const by = batch.submitted_by ? `, by ${batch.submitted_by}` : "";
  const name = make("th", "", link(batch), make("span", "by", `${batch.operation.replaceAll("_", " ")}, ${when}${by}`));
  name.scope = "row";
  const bar = make("progress", "");
  bar.max = batch.counts.n_items || 1;
  bar.setAttribute("aria-label", `Done of ${nameOf(batch)}`);
  const cells = ["State", "Done", "Failed", "Rate", "To go", "Cost"].map((title, place) => {
    const cell = make("td", place > 1 ? "number" : "");
    cell.dataset.name = title;
    return cell;
  });
  const [share, state, why, paid, unpriced] = ["", "", "by", "", "by"].map((kind) => make("span", kind));
  cells[0].append(state, why);
  cells[1].append(bar, share);
  cells[5].append(paid, unpriced);
  return { row: make("tr", "", name, ...cells), cells, bar, share, state, why, paid, unpriced };
};

const tell = (standing) => {
  const { batch } = standing;
  if (!rows.has(batch.id)) rows.set(batch.id, begun(batch));
  const { row, cells, bar, share, state, why, paid, unpriced } = rows.get(batch.id);
  const running = !standing.finished && batch.state !== "paused";
  bar.value = done(batch.counts);
  showState(state, batch);
  why.textContent = batch.pause && batch.pause.kind !== "requested" ? batch.pause.kind.replaceAll("_", " ") : "";
  share.textContent = `${number(done(batch.counts))} of ${number(batch.counts.n_items)}`;
  cells[2].textContent = number(batch.counts.failed);
  cells[3].textContent = running ? rate(standing.rate) : "–";
  cells[4].textContent = running ? duration(standing.eta_seconds) : "–";
  [paid.textContent, unpriced.textContent] = standing.paid.split(/, (.*)/); // "$0.00, 3 items without a known price"
  const before = states.get(batch.id);
  states.set(batch.id, batch.state);
  if (before && before !== batch.state) say(`${nameOf(batch)} is ${stateOf(batch)}`);
  return row;
};

const hourOf = (traffic) => {
  const name = make("th", "", traffic.service);
  name.scope = "row";
  const when = new Date(traffic.hour).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  const cells = { Hour: when, Calls: number(traffic.calls), Failed: number(traffic.failed), Cost: traffic.paid };
  const made = Object.entries(cells).map(([title, text]) => {
    const cell = make("td", title === "Hour" ? "" : "number", text);
    cell.dataset.name = title;
    return cell;
  });
  return make("tr", "", name, ...made);
};

// Not followed: calls come and go by the hundred, and nobody watches one.
const showServices = async () => {
  const traffic = await (await ask("/v1/service-traffic")).json();
  at("service-rows").replaceChildren(...traffic.map(hourOf));
  at("services").hidden = !traffic.length;
};

export const overview = (maySubmit) => {
  at("overview").hidden = false;
  at("to-first").hidden = !maySubmit;
  showServices().catch(complain);
  const shown = { batches: null, reviews: null }; // how many; null: nobody knows yet
  const settle = () => {
    at("batches").hidden = !shown.batches;
    at("no-batches").hidden = shown.batches !== 0 || shown.reviews !== 0;
  };
  const lookAtReviews = reviewsIn(at("reviews"), (count) => {
    shown.reviews = count;
    settle();
  });
  const told = ({ data }) => {
    lookAtReviews();
    const list = data.filter(({ batch }) => batch.stage === null).map(tell); // the others are shown with their reviews
    const body = at("batch-rows");
    // A row that stands where it should is left there: who moves an element takes the focus from it.
    for (const [n, row] of list.entries()) if (body.children[n] !== row) body.insertBefore(row, body.children[n] ?? null);
    while (body.children.length > list.length) body.lastElementChild.remove();
    shown.batches = list.length;
    settle();
  };
  return follow("/v1/events", told, tellLost);
};

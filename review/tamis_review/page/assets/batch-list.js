// The batches of no review on the home page: the latest as they go, earlier ones a page at a time when asked for.
import { ask } from "./api.js";
import { doneOf, newsOf, readTeam, showRead, showState } from "./bars.js";
import { at, complain, done, duration, make, nameOf, number, rate, say } from "./words.js";

const PAGE = 20;
export const MOST = PAGE + 1; // one more than is shown: whether there are earlier ones

const rows = new Map(); // id -> its row: kept, so that the focus stays where it is
const states = new Map();
const teams = new Map();

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
  const cells = ["State", "Done", "Failed", "Rate", "Time left", "Cost"].map((title, place) => {
    const cell = make("td", place > 1 ? "number" : "");
    cell.dataset.name = title;
    return cell;
  });
  const [share, people, state, why, paid, unpriced] = ["", "people", "", "by", "", "by"].map((kind) => make("span", kind));
  cells[0].append(state, why);
  people.hidden = true;
  cells[1].append(bar, share, people);
  cells[5].append(paid, unpriced);
  return { row: make("tr", "", name, ...cells), cells, bar, share, people, state, why, paid, unpriced };
};

const tell = (standing) => {
  const { batch } = standing;
  if (!rows.has(batch.id)) rows.set(batch.id, begun(batch));
  const { row, cells, bar, share, people, state, why, paid, unpriced } = rows.get(batch.id);
  const running = !standing.finished && batch.state !== "paused";
  bar.value = done(batch.counts);
  showState(state, batch, teams.get(batch.id));
  why.textContent = batch.pause && batch.pause.kind !== "requested" ? batch.pause.kind.replaceAll("_", " ") : "";
  share.textContent = doneOf(batch);
  cells[2].textContent = number(batch.counts.failed);
  cells[3].textContent = running ? rate(standing.rate) : "–";
  cells[4].textContent = running ? duration(standing.eta_seconds) : "–";
  [paid.textContent, unpriced.textContent] = standing.paid.split(/, (.*)/); // "$0.00, 3 items without a known price"
  const before = states.get(batch.id);
  states.set(batch.id, batch.state);
  if (before && before !== batch.state) say(newsOf(batch, teams.get(batch.id)));
  if (before !== batch.state) {
    readTeam(batch).then((team) => {
      teams.set(batch.id, team);
      if (states.get(batch.id) === batch.state) showState(state, batch, team);
      showRead(people, team, nameOf(batch));
    });
  }
  return row;
};

// A row that stands where it should is left there: who moves an element takes the focus from it.
const place = (body, list) => {
  for (const [n, row] of list.entries()) if (body.children[n] !== row) body.insertBefore(row, body.children[n] ?? null);
  while (body.children.length > list.length) body.lastElementChild.remove();
};

const older = (one, than) => Date.parse(one.batch.created_at) <= Date.parse(than.batch.created_at);

// What it returns shows the latest ones, which the stream told; below them stay the earlier ones that were asked for.
export const batchList = () => {
  let latest = [];
  let earlier = []; // as they stood when they were asked for, or were last told of
  let asked = false;
  let more = false;
  const draw = () => {
    place(at("batch-rows"), [...latest, ...earlier].map(tell));
    at("earlier").hidden = !more;
  };
  at("earlier").addEventListener("click", async () => {
    at("earlier").disabled = true;
    try {
      const last = [...latest, ...earlier].at(-1).batch.id;
      const found = await (await ask(`/v1/batches?review=none&limit=${PAGE}&after=${last}`)).json();
      const fresh = found.items.filter((one) => !earlier.some(({ batch }) => batch.id === one.batch.id));
      earlier = [...earlier, ...fresh];
      asked = true;
      more = found.next !== null;
      draw();
      say(`${number(fresh.length)} earlier ${fresh.length === 1 ? "batch is" : "batches are"} shown.`);
      if (fresh.length) rows.get(fresh[0].batch.id).row.querySelector("a").focus();
    } catch (error) {
      complain(error);
    }
    at("earlier").disabled = false;
  });
  return (told) => {
    const now = told.slice(0, PAGE);
    const gone = asked ? latest.filter((one) => now.length && older(one, now.at(-1))) : []; // newer ones took their place
    earlier = [...gone, ...earlier].filter((one) => !now.some(({ batch }) => batch.id === one.batch.id));
    latest = now;
    if (!asked) more = told.length > PAGE;
    draw();
  };
};

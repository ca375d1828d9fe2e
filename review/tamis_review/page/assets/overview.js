// Reviews, and the latest batches of none, as they go: one connection for all of them.
import { ask, follow } from "./api.js";
import { batchList, MOST } from "./batch-list.js";
import { reviewsIn } from "./reviews.js";
import { at, complain, make, number, tellLost } from "./words.js";

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
  const { items: traffic } = await (await ask("/v1/service-traffic")).json();
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
  const showBatches = batchList();
  const told = ({ data }) => {
    lookAtReviews();
    showBatches(data);
    shown.batches = data.length;
    settle();
  };
  return follow(`/v1/events?review=none&limit=${MOST}`, told, tellLost);
};

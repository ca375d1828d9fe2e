// The views of a batch: one address each, led to from all of them.
import { ask } from "./api.js";
import { make } from "./words.js";

const DECIDES = ["inclusion", "filter"];

// name in the address ("" is the batch itself), what it is called, and whether only batches have it that are decided record by record.
const VIEWS = [
  ["work", "Work", true],
  ["conflicts", "Conflicts", true],
  ["team", "Team", true],
  ["", "Figure and report", false],
  ["quality", "Quality", false],
  ["run", "Run", false],
];

export const decidedByPeople = (batch) => DECIDES.includes(batch.operation);

export const isView = (name) => VIEWS.some(([known]) => name && known === name);

export const addressOf = (id, view = "") => `/?batch=${encodeURIComponent(id)}${view && `&view=${view}`}`;

export const addressOfReview = (id) => `/?review=${encodeURIComponent(id)}`;

// A stage's name in its review, with its number.
export const stageName = (n, name) => `${n + 1}. ${name.replaceAll("_", " ")}`;

export const viewsOf = (batch) => VIEWS.filter(([, , decides]) => !decides || decidedByPeople(batch));

// Shows them in the element, with the one that is open marked.
export const leadToViews = (element, batch, open = "") => {
  const links = viewsOf(batch).map(([name, text]) => {
    const link = make("a", "", text);
    link.href = addressOf(batch.id, name);
    if (name === open) link.setAttribute("aria-current", "page");
    return link;
  });
  element.replaceChildren(...links);
  element.hidden = false;
};

const linked = (text, address, here) => {
  const link = make("a", "", text);
  link.href = address;
  if (here) link.setAttribute("aria-current", "true");
  return link;
};

// Says in the element which batch it is, and where it is a stage, of which review, with the way to its other stages.
export const showPlace = async (element, batch, open = "") => {
  element.textContent = `Batch ${batch.id.slice(0, 8)}`;
  element.hidden = false;
  if (!batch.review_id) return;
  let review;
  try {
    review = await (await ask(`/v1/reviews/${encodeURIComponent(batch.review_id)}`)).json();
  } catch {
    return; // the view says itself where the gateway is away
  }
  const stages = review.stages.flatMap((stage, n) => [" · ", linked(stageName(n, stage.name), addressOf(stage.batch.id, open), stage.batch.id === batch.id)]);
  element.replaceChildren(linked(review.label, addressOfReview(review.id), false), ...stages);
};

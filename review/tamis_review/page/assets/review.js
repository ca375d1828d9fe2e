// One review: its stages with what is left in each, and the figure of all of them.
import { ask, download } from "./api.js";
import { Done, Read, showState } from "./bars.js";
import { showFlow } from "./flow.js";
import { leftOf, when } from "./reviews.js";
import { html, render } from "./ui.js";
import { addressOf, stageName, viewsOf } from "./views.js";
import { at, calm, complain, say } from "./words.js";

const LOOK_AGAIN = 5000; // ms between two looks, while anything goes on

const State = ({ batch, team }) => html`<span ref=${(badge) => badge && showState(badge, batch, team)}></span>`;

const Stage = ({ n, stage }) => {
  const { batch } = stage;
  const name = stageName(n, stage.name);
  return html`<li>
    <h2>${name}</h2>
    <p class="share"><${Done} batch=${batch} of=${name} /></p>
    <p class="share"><${Read} team=${stage} of=${name} /></p>
    <p class="left"><${State} batch=${batch} team=${stage} /> ${leftOf(stage) || "You have no work left here."}</p>
    <p class="ways">${viewsOf(batch).map(([view, text]) => html`<a href=${addressOf(batch.id, view)} aria-label=${`${text}, ${name}`}>${text}</a>`)}</p>
  </li>`;
};

const save = async (review) => {
  calm();
  const name = `${review.label.replace(/[^\p{L}\p{N}._-]+/gu, "-")}-${review.id.slice(0, 8)}.html`;
  await download(`/v1/reviews/${review.id}/report`, name).then(() => say(`${name} is saved.`), complain);
};

const Review = ({ review }) => html`<div class="stages">
  <p class="next"><strong>${review.next_step}</strong> <span class="by">started ${when(review.created_at)} · cost ${review.paid}</span></p>
  <ol>
    ${review.stages.map((stage, n) => html`<${Stage} key=${stage.batch.id} n=${n} stage=${stage} />`)}
    ${review.planned.map((name, n) => (n < review.stages.length ? null : html`<li key=${n} class="ahead"><h2>${stageName(n, name)}</h2><p>not started</p></li>`))}
  </ol>
  <p class="actions"><button type="button" onClick=${() => save(review)}>Save report of all stages</button></p>
</div>`;

// Fills the element, and looks again while the review goes on; `title` says what it is called.
export const showReview = async (id, element, title) => {
  const path = `/v1/reviews/${encodeURIComponent(id)}`;
  const stages = document.createElement("div");
  const flow = at("flow"); // the one that stands on a batch's page, too
  let drawn = "";
  for (;;) {
    const review = await (await ask(path)).json();
    if (!stages.isConnected) element.replaceChildren(stages, flow);
    title(review.label);
    at("eyebrow").textContent = `Review ${review.id.slice(0, 8)}`;
    at("eyebrow").hidden = false;
    render(html`<${Review} review=${review} />`, stages);
    const now = JSON.stringify(review.stages.map(({ batch, conflicts, todo }) => [batch.counts, conflicts, todo]));
    if (now !== drawn) await showFlow(path);
    drawn = now;
    document.documentElement.dataset.ready = "true";
    if (review.state !== "running" && review.state !== "pending") return;
    await new Promise((later) => setTimeout(later, LOOK_AGAIN));
  }
};

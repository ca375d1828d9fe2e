// The latest reviews on the home page: their stages as bars, what is left for whoever looks, and what comes next.
import { ask } from "./api.js";
import { Done, Read } from "./bars.js";
import { html, render } from "./ui.js";
import { addressOf, addressOfReview, stageName } from "./views.js";
import { number } from "./words.js";

export const counted = (n, one, many) => `${number(n)} ${n === 1 ? one : many}`;

// What is left in a stage for people, in a line.
export const leftOf = ({ conflicts, todo }, ...more) =>
  [conflicts && counted(conflicts, "conflict", "conflicts"), todo && `${counted(todo, "record", "records")} left for you`, ...more].filter(Boolean).join(" · ");

export const when = (at) => new Date(at).toLocaleDateString(undefined, { dateStyle: "medium" });

const Stage = ({ n, stage, review }) => {
  const { counts, id } = stage.batch;
  const of = `${stageName(n, stage.name)}, ${review}`;
  return html`<li>
    <a href=${addressOf(id, "work")}>${stageName(n, stage.name)}</a>
    <span class="share"><span><${Done} batch=${stage.batch} of=${of} /></span><span><${Read} team=${stage} of=${of} /></span></span>
    <span class="left">${leftOf(stage, counts.failed && `${number(counts.failed)} failed`)}</span>
  </li>`;
};

const Ahead = ({ n, name }) => html`<li class="ahead"><span>${stageName(n, name)}</span><span class="share">not started</span></li>`;

const Review = ({ review }) => html`<article class="review" aria-label=${review.label}>
  <h3><a href=${addressOfReview(review.id)}>${review.label}</a></h3>
  <p class="next"><strong>${review.next_step}</strong> <span class="by">${when(review.created_at)}</span></p>
  <ol>
    ${review.stages.map((stage, n) => html`<${Stage} key=${stage.batch.id} n=${n} stage=${stage} review=${review.label} />`)}
    ${review.planned.map((name, n) => (n < review.stages.length ? null : html`<${Ahead} key=${n} n=${n} name=${name} />`))}
  </ol>
</article>`;

const Reviews = ({ reviews }) => html`<h2 id="reviews-heading">Reviews</h2>
  ${reviews.map((review) => html`<${Review} key=${review.id} review=${review} />`)}`;

const PAUSE = 3000; // ms between two looks: batches change many times a second

// Shows them in the element, which is hidden while there are none; the answer looks again, soon and not too often.
export const reviewsIn = (element, tell) => {
  let looking = null;
  let again = false;
  const look = async () => {
    const { items: reviews } = await (await ask("/v1/reviews")).json();
    element.hidden = !reviews.length;
    render(html`<${Reviews} reviews=${reviews} />`, element);
    tell(reviews.length);
  };
  const soon = () => {
    if (looking) {
      again = true;
      return;
    }
    looking = look()
      .catch(() => {}) // the list of batches says that the gateway is away
      .then(() => new Promise((resume) => setTimeout(resume, PAUSE)))
      .then(() => {
        looking = null;
        if (again) soon();
        again = false;
      });
  };
  return soon;
};

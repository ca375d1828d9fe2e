// The price list of the stop rule: how many more records of the sample each promise costs. A price chosen is a promise asked for.
import { percent } from "./quality-parts.js";
import { html } from "./ui.js";
import { number } from "./words.js";

const inBrackets = ({ none_found: clean, as_expected: more }) => (more !== null && more !== clean ? ` (${number(more)})` : "");

const Price = ({ price, chosen, choose }) => {
  const { none_found: clean, recall, confidence } = price;
  if (clean === null) return html`<span class="small">not possible</span>`;
  if (clean === 0) return "met";
  const words = `${number(clean)}${inBrackets(price)}`;
  const label = `${words}: ${percent(recall)}% recall, ${percent(confidence)}% sure`;
  return html`<button type="button" aria-pressed=${chosen ? "true" : "false"} aria-label=${label} onClick=${() => choose({ recall, confidence })}>${words}</button>`;
};

export const Prices = ({ answer, choose }) => {
  const each = (name) => [...new Set(answer.prices.map((one) => one[name]))].sort((a, b) => a - b);
  const confidences = each("confidence");
  const of = (recall, confidence) => answer.prices.find((one) => one.recall === recall && one.confidence === confidence);
  const asked = (one) => one.recall === answer.recall && one.confidence === answer.confidence;
  return html`<h3 id="quality-prices">What each promise costs</h3>
    <p class="small">More records of the sample to read if none is an include. In brackets: if as many are includes as expected by now. Select a number to ask for that promise.</p>
    <div class="quality-scroll" tabindex="0" role="group" aria-label="Price list"><table class="quality-table quality-prices" aria-labelledby="quality-prices">
      <thead><tr><th scope="col">Recall</th>${confidences.map((confidence) => html`<th scope="col">${percent(confidence)}% sure</th>`)}</tr></thead>
      <tbody>${each("recall").map((recall) => html`<tr key=${recall}><th scope="row">${percent(recall)}%</th>${confidences.map((confidence) => {
        const price = of(recall, confidence);
        return html`<td class=${asked(price) ? "same" : ""}><${Price} price=${price} chosen=${asked(price)} choose=${choose} /></td>`;
      })}</tr>`)}</tbody></table></div>`;
};

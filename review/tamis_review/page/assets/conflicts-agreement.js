// How far the two people agree whose decisions a conflict comes from, with the way to the records behind each number.
import { ask, Problem } from "./api.js";
import { html } from "./ui.js";
import { rounded, share } from "./quality-agreement.js";
import { addressOf } from "./views.js";
import { number } from "./words.js";
import { sayingOf } from "./work-state.js";

const BLINDED = 403; // of a record that is still hidden, figures of all of them would tell

// The pairs of people, in what the batch asks itself; none where they may not be told yet.
export const readPairs = async (path) => {
  try {
    const { people } = await (await ask(`${path}/agreement`)).json();
    return people.filter(({ stage, agreement }) => stage === "own" && agreement.n > 0);
  } catch (error) {
    if (error instanceof Problem && error.status === BLINDED) return [];
    throw error;
  }
};

const addressOfCell = (id, { stage, first, second }, { first_said, second_said }) =>
  `${addressOf(id, "quality")}&${new URLSearchParams({ stage, first, second, first_said, second_said })}`;

const kappaOf = ({ kappa, kappa_low: low, kappa_high: high, no_kappa: none }) =>
  (kappa === null ? `no kappa: ${none}` : `Cohen’s kappa ${rounded(kappa)} (95% interval ${rounded(low)} to ${rounded(high)})`);

const Pair = ({ id, pair, facts }) => {
  const { first, second, agreement } = pair;
  const saying = (word) => sayingOf(facts, word);
  return html`<p class="conflicts-pair"><b>${first} and ${second}</b> agree on ${share(agreement.observed)} of the ${number(agreement.n)} ${agreement.n === 1 ? "record" : "records"} that both decided; ${kappaOf(agreement)}.</p>
    <p class="small conflicts-cells">Records by each pair of decisions: ${agreement.cells.filter(({ n }) => n).map((cell) => html`<a key=${`${cell.first_said} ${cell.second_said}`} href=${addressOfCell(id, pair, cell)} aria-label=${`${number(cell.n)}: ${first} ${saying(cell.first_said)}, ${second} ${saying(cell.second_said)}`}>${number(cell.n)} ${saying(cell.first_said)} / ${saying(cell.second_said)}</a>`)}</p>`;
};

export const PairsAgreement = ({ id, pairs, facts }) => pairs.length > 0 && html`<section class="conflicts-agreement" aria-label="Agreement">${pairs.map((pair) => html`<${Pair} key=${`${pair.first} ${pair.second}`} id=${id} pair=${pair} facts=${facts} />`)}</section>`;

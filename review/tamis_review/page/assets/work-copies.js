// Pairs of records that may be copies: what the deduplication doubts, what people said of it, and taking it back.
import { ask } from "./api.js";
import { html, useEffect, useState } from "./ui.js";
import { number, say } from "./words.js";

const wordsOf = (verdict, copy) => ({ copies: `copies, ${copy} is removed`, different: "two different reports" })[verdict] || "undone";

const Pair = ({ pair, may, decide }) => {
  const { index, of, titles, ids, reason, verdict, reviewer, moot } = pair;
  const [copy, stays] = [index + 1, of + 1].map(number);
  const named = [copy, stays].map((n, at) => html`<b>${n}</b> ${titles[at] || `(no title) ${ids[at]}`}`);
  return html`<li>
    <p>${named[0]}<br />${named[1]}</p>
    ${reason && html`<p class="small">${reason}</p>`}
    ${verdict && html`<p>Decided by ${reviewer}: ${wordsOf(verdict, copy)}.</p>`}
    ${moot && html`<p>Nothing to decide: one of them was removed already.</p>`}
    ${may && !moot && html`<p class="actions">${verdict
      ? html`<button type="button" onClick=${() => decide(index, of, null)} aria-label=${`Undo the verdict on records ${copy} and ${stays}`}>Undo</button>`
      : html`<button type="button" onClick=${() => decide(index, of, "copies")}>Remove ${copy} as a copy</button>
        <button type="button" onClick=${() => decide(of, index, "copies")}>Remove ${stays} as a copy</button>
        <button type="button" onClick=${() => decide(index, of, "different")} aria-label=${`Records ${copy} and ${stays} are different reports`}>Different reports</button>`}</p>`}
  </li>`;
};

// `changed` is called when records have left the list or come back.
export const Copies = ({ id, may, changed }) => {
  const path = `/v1/batches/${encodeURIComponent(id)}/copies`;
  const [pairs, setPairs] = useState([]);
  const [problem, setProblem] = useState("");
  const read = () => ask(path).then((answer) => answer.json()).then(({ items }) => setPairs(items), () => {}); // where a stage is hidden, the list says so
  useEffect(() => {
    read();
  }, [path]);
  const decide = async (index, of, verdict) => {
    setProblem("");
    try {
      await ask(path, { method: "POST", json: { index, of, verdict } });
      say(`Records ${number(index + 1)} and ${number(of + 1)}: ${wordsOf(verdict, number(index + 1))}.`);
      changed();
    } catch (error) {
      setProblem(error.message);
    }
    await read();
  };
  const open = pairs.filter(({ verdict, moot }) => !verdict && !moot).length;
  return pairs.length > 0 && html`<details class="work-copies">
    <summary>Possible copies: ${number(open)} of ${number(pairs.length)} ${pairs.length === 1 ? "pair" : "pairs"} to decide</summary>
    ${problem && html`<p class="notice" role="alert">${problem}</p>`}
    <ol>${pairs.map((pair) => html`<${Pair} key=${[pair.index, pair.of].sort((a, b) => a - b).join()} pair=${pair} may=${may} decide=${decide} />`)}</ol>
  </details>`;
};

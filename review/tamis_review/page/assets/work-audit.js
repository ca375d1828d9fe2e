// Work where the model decides and people audit it: a sample is drawn, judged blind, and its verdict told.
import { ask } from "./api.js";
import { queue } from "./decision-queue.js";
import { html, useEffect, useState } from "./ui.js";
import { addressOf } from "./views.js";
import { number } from "./words.js";
import { isAudited } from "./work-state.js";

const USUAL = 50; // records
const MOST = 100000; // that the gateway draws
const newSeed = () => crypto.getRandomValues(new Uint32Array(1))[0] >>> 1;

export const KEYS = [
  ["E", "rightly excluded"],
  ["I", "should have been included"],
  ["N", "add a note"],
  ["L", "add a label"],
  ["J", "next record"],
  ["K", "previous record, to change your judgement"],
  ["/", "search"],
  ["Esc", "close the open panel"],
  ["?", "show this list"],
];

// Above the record: which sample it is of, and how far it is.
export const Drawn = ({ facts, counts }) => html`<p class="work-audit">Audit: <b>${number(counts.records - counts.todo)} of ${number(counts.records)}</b> sampled records judged (seed ${facts.audit.seed}).</p>`;

const Draw = ({ batch, drawn }) => {
  const [seed] = useState(newSeed);
  const [problem, setProblem] = useState("");
  const draw = async (event) => {
    event.preventDefault();
    setProblem("");
    const { n, seed: chosen } = event.target.elements;
    try {
      await ask(`/v1/batches/${encodeURIComponent(batch.id)}/audits`, { method: "POST", json: { n: Number(n.value), seed: Number(chosen.value), stratum: "model" } });
      drawn();
    } catch (error) {
      setProblem(error.message);
    }
  };
  return html`<form class="work-draw" onSubmit=${draw}>
    <p class="field"><label for="work-draw-n">Records to draw</label><input type="number" id="work-draw-n" name="n" min="1" max=${MOST} defaultValue=${USUAL} required aria-describedby="work-draw-about" /><span class="small" id="work-draw-about">More records give a tighter bound. If there are fewer, all are drawn.</span></p>
    <p class="field"><label for="work-draw-seed">Seed</label><input type="number" id="work-draw-seed" name="seed" min="0" max=${Number.MAX_SAFE_INTEGER} defaultValue=${seed} required aria-describedby="work-draw-same" /><span class="small" id="work-draw-same">The same seed draws the same records from the same exclusions.</span></p>
    ${problem && html`<p class="notice" role="alert">${problem}</p>`}
    <p class="actions"><button type="submit" class="main">Draw the audit sample</button></p></form>`;
};

const None = ({ batch, may, again }) => html`<h2 id="work-title" tabindex="-1">No audit sample yet</h2>
  <p>The model decides this batch. An audit is a random sample of its exclusions. People judge the sample without seeing the model’s decisions. The result is an upper bound on the records that the model missed.</p>
  ${batch.state !== "completed" && html`<p>You can draw it once the batch is completed. The batch is ${batch.state}.</p>`}
  ${batch.state === "completed" && (may ? html`<${Draw} batch=${batch} drawn=${again} />` : html`<p>To draw a sample, use a key with the scope <code>decide</code>.</p>`)}`;

const Judged = ({ batch, audit }) => html`<h2 id="work-title" tabindex="-1">All sampled records are judged</h2>
  <p>${audit.words ?? "The result appears when the last judgement has reached the gateway."}</p>
  ${audit.words && html`<p class="actions"><a href=${`${addressOf(batch.id, "quality")}#quality-audit`}>Audit results by record</a></p>`}`;

// What stands there where no record is left: the way to a sample, or its verdict.
export const AuditEnd = ({ batch, may, facts, again }) => html`<div class="work-card">${facts.audit ? html`<${Judged} batch=${batch} audit=${facts.audit} />` : html`<${None} batch=${batch} may=${may} again=${again} />`}</div>`;

// The verdict is made by the gateway, from what has reached it: asked for once nothing waits to be sent.
export const useVerdict = (session, batch) => {
  const { state } = session;
  const unsent = queue.of(batch).length;
  const due = isAudited(state.facts) && state.facts.audit && !state.facts.audit.words && state.counts?.todo === 0;
  useEffect(() => {
    if (due && unsent === 0) session.filter({});
  }, [due, unsent]);
};

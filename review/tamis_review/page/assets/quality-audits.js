// Audits of exclusions: a random sample is drawn, a person judges it, and its verdict says how many were missed at most.
import { ask } from "./api.js";
import { queue } from "./decision-queue.js";
import { html, useEffect, useState } from "./ui.js";
import { addressOf } from "./views.js";
import { number, say } from "./words.js";

const USUAL = 50; // records
const MOST = 500; // whose texts are asked for together

const Judged = ({ item, row, decide, judge }) => html`<li>
  <p><strong>${number(item.index + 1)}: ${row?.title || item.item_id}</strong></p>
  ${(row?.fields || []).map((field) => html`<p class="small">${field.text}</p>`)}
  <p class="actions">${item.include === null ? "" : html`<span>${item.include ? "should have been included" : "rightly excluded"} (${item.reviewer})</span>`}
    ${decide && item.include === null && html`<button type="button" onClick=${() => judge(item, false)}>Rightly excluded</button><button type="button" onClick=${() => judge(item, true)}>Should have been included</button>`}</p></li>`;

const Audit = ({ batch, path, audit, decide, changed }) => {
  const [rows, setRows] = useState(new Map());
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const places = audit.items.slice(0, MOST).map((item) => `index=${item.index}`).join("&");
    ask(`${path}/records?${places}`).then((answer) => answer.json()).then((found) => setRows(new Map(found.rows.map((row) => [row.i, row]))), (error) => setProblem(error.message));
  }, [audit.id]);
  const judge = ({ index }, include) => queue.add(batch.id, { kind: "audit", audit: audit.id, index, body: { decisions: [{ index, include }] }, said: include ? "should have been included" : "rightly excluded" });
  useEffect(() => queue.watch((entry) => {
    if (entry?.audit !== audit.id || !entry.answer) return;
    const recorded = JSON.parse(entry.answer);
    changed(recorded.audit);
    say(`Recorded. ${number(recorded.audit.verdict.decided)} of ${number(recorded.audit.items.length)} are judged.`);
  }), [audit.id]);
  return html`<section aria-label=${`Audit with seed ${audit.seed}`}>
    <p>${audit.verdict.words}</p>
    ${[...rows.values()].some(({ hidden }) => hidden) && html`<p>People judge it blind: <a href=${addressOf(batch.id, "work")}>Work</a> shows its records without the model’s decisions.</p>`}
    ${problem && html`<p class="notice" role="alert">${problem}</p>`}
    <details><summary>${audit.items.length === 1 ? "Show the record" : `Show all ${number(audit.items.length)} records`}</summary>
      <ol>${audit.items.map((item) => html`<${Judged} key=${item.index} item=${item} row=${rows.get(item.index)} decide=${decide} judge=${judge} />`)}</ol></details></section>`;
};

export const Audits = ({ batch, path, first, decide }) => {
  const [audits, setAudits] = useState(first);
  const [problem, setProblem] = useState("");
  const keep = (one) => setAudits((all) => (all.some((each) => each.id === one.id) ? all.map((each) => (each.id === one.id ? one : each)) : [...all, one]));
  const draw = async (event) => {
    event.preventDefault();
    setProblem("");
    const seed = crypto.getRandomValues(new Uint32Array(1))[0] >>> 1;
    try {
      keep(await (await ask(`${path}/audits`, { method: "POST", json: { n: Number(event.target.elements.n.value), seed } })).json());
    } catch (error) {
      setProblem(error.message);
    }
  };
  return html`${audits.map((audit) => html`<${Audit} key=${audit.id} batch=${batch} path=${path} audit=${audit} decide=${decide} changed=${keep} />`)}
    ${decide && html`<form class="actions" onSubmit=${draw}><label for="quality-audit-n">Excluded records to draw at random</label><input type="number" id="quality-audit-n" name="n" min="1" max=${MOST} defaultValue=${USUAL} required /><button type="submit">Draw an audit</button></form>`}
    ${problem && html`<p class="notice" role="alert">${problem}</p>`}
    ${!decide && audits.length === 0 && html`<p>There is no audit yet.</p>`}`;
};

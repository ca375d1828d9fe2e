// A record in conflict: who decided what, its text, and on demand what the software says.
import { html, useState } from "./ui.js";
import { factsOf } from "./conflicts-state.js";
import { Identifiers, Software, Texts } from "./work-card.js";
import { BADGES } from "./work-list.js";
import { sayingOf, wordOf } from "./work-state.js";

const ASKED = { own: "", retrieval: ", retrieval of its report", "full-text": ", full text" };

const when = (at) => new Date(at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });

export const Said = ({ facts, decision }) => {
  const word = wordOf(facts, decision);
  return html`<span class=${`badge ${BADGES[word] || ""}`}>${sayingOf(facts, word)}</span>`;
};

const Voice = ({ one, facts }) => html`<li class="conflicts-voice">
  <h3>${one.reviewer}${one.reviewer === facts.me && " (you)"}</h3>
  <p><${Said} facts=${facts} decision=${one} /> <time class="by" datetime=${one.created_at}>${when(one.created_at)}</time></p>
  ${one.reason && html`<p>Reason: ${one.reason}</p>`}
  ${one.note && html`<p>Note: “${one.note}”</p>`}
</li>`;

// Shown for this record alone, and forgotten with it.
const OnDemand = ({ row, facts }) => {
  const [shown, setShown] = useState(false);
  return html`<section class="conflicts-software work-said" aria-label="The software">
    <p><button type="button" aria-expanded=${String(shown)} onClick=${() => setShown(!shown)}>Show the software’s decision</button></p>
    ${shown && html`<${Software} row=${row} facts=${facts} />`}
  </section>`;
};

const Abstract = ({ row, shown, folded, fold }) => {
  const fields = (row.fields || []).map(({ marks, ...field }) => field); // marks are the software's quotes
  return html`<details class="conflicts-text" open=${!folded} onToggle=${(event) => fold(!event.target.open)}>
    <summary>Abstract</summary>
    <${Texts} row=${{ ...row, fields }} shown=${shown} />
  </details>`;
};

// `note`: { text, write }, of the decision that settles; null where the key does not decide.
export const Conflict = ({ record, unsent, row, facts: all, finders, folded, fold, note }) => {
  const facts = factsOf(all, record.stage);
  return html`
    <p class="eyebrow">Record ${record.number.toLocaleString("en")}${ASKED[record.stage]}</p>
    <h2 id="work-title" tabindex="-1">${row?.title || record.title || `(no title) ${record.item_id}`}</h2>
    ${row?.by && html`<p class="by">${row.by}</p>`}
    ${row && html`<${Identifiers} row=${row} />`}
    ${record.settled && html`<p class="work-mine"><${Said} facts=${facts} decision=${record.settled} /> ${unsent ? "decided by me, not sent yet" : "settled by me"}${record.settled.reason ? `: ${record.settled.reason}` : ""}${record.settled.note ? ` (${record.settled.note})` : ""}</p>`}
    ${record.system_differs && html`<p>People agree, but the software decided differently.</p>`}
    <ul class="conflicts-voices" aria-label="Who decided what">${record.decisions.map((one) => html`<${Voice} key=${one.reviewer} one=${one} facts=${facts} />`)}</ul>
    ${row ? html`<${Abstract} row=${row} shown=${{ finders, criteria: all.criteria }} folded=${folded} fold=${fold} />
      <${OnDemand} row=${row} facts=${all} />` : html`<p class="small">Loading record …</p>`}
    ${note && html`<p class="field conflicts-note"><label for="conflicts-note">Note on your decision</label>
      <input type="text" id="conflicts-note" maxlength="2000" autocomplete="off" aria-keyshortcuts="N" value=${note.text} onInput=${(event) => note.write(event.target.value)} onKeyDown=${note.leave} /></p>`}`;
};

// The Conflicts view: what people decided differently, record by record, until somebody has settled it.
import { html, render, useEffect, useLayoutEffect, useMemo, useReducer, useState } from "./ui.js";
import { PairsAgreement } from "./conflicts-agreement.js";
import { Conflict } from "./conflicts-card.js";
import { conflictSession } from "./conflicts-session.js";
import { factsOf, NOT_YET, ORDERS, unsettled } from "./conflicts-state.js";
import { findersOf } from "./marking.js";
import { addressOf } from "./views.js";
import { at, number, scrollUpTo } from "./words.js";
import { Bar } from "./work-bar.js";
import { Help, useKeys } from "./work-keys.js";
import { BADGES, Lines } from "./work-list.js";
import { current, sayingOf, wordOf } from "./work-state.js";

const KEYS = [
  ["I", "settle: include"],
  ["E", "settle: exclude, opens the reasons"],
  ["1 – 9", "in the reasons: exclude for that reason"],
  ["Enter, E", "in the reasons: exclude without a reason"],
  ["U", "settle: uncertain"],
  ["Z", "undo my last decision"],
  ["N", "add a note to the decision"],
  ["J", "next record"],
  ["K", "previous record"],
  ["Esc", "close the open panel"],
  ["?", "show this list"],
];

const Done = ({ id, state, unsent, again }) => {
  if (state.problem) return html`<p class="notice" role="alert">${state.problem}</p><p><button type="button" onClick=${again}>Try again</button></p>`;
  if (!state.facts) return html`<p class="small">Loading conflicts …</p>`;
  const waits = state.records.filter(({ key }) => unsent.has(key)).length;
  const here = state.records.length - waits;
  const { todo } = state.facts.counts;
  const left = unsettled(state).length;
  if (left) return html`<h2 id="work-title" tabindex="-1">End of the list</h2><p>${number(left)} still to settle.</p><p class="actions"><button type="button" onClick=${again}>Back to the first</button></p>`;
  return html`<h2 id="work-title" tabindex="-1">${waits ? "Every conflict is decided" : here ? "Every conflict is settled" : "No conflict is open"}</h2>
    ${waits > 0 && html`<p>${number(waits)} ${waits === 1 ? "decision is" : "decisions are"} unsent.</p>`}
    <p>${here || waits ? `You settled ${number(here)} ${here === 1 ? "record" : "records"}.` : "On the records that you may see, people agree, or a reviewer has settled the conflict."}</p>
    ${NOT_YET[state.facts.mode] && html`<p>${NOT_YET[state.facts.mode]}</p>`}
    <p>Next:</p>
    <ul class="conflicts-next">
      ${todo > 0 && html`<li><a href=${addressOf(id, "work")}>Work</a>: ${number(todo)} ${todo === 1 ? "record waits" : "records wait"} for you.</li>`}
      <li><a href=${addressOf(id, "quality")}>Quality</a>: agreement between people.</li>
      <li><a href=${addressOf(id)}>Figure and report</a>: with the settled records.</li>
    </ul>
    <p class="actions"><button type="button" onClick=${again}>Reload conflicts</button></p>`;
};

const lineOf = (all, unsent) => ({ key, index, stage, number: n, title, item_id: id, settled }) => {
  const facts = factsOf(all, stage);
  const word = settled && wordOf(facts, settled);
  return { key, index, number: n, title: title || `(no title) ${id}`, badge: word ? [BADGES[word] || "", `${sayingOf(facts, word)}${unsent.has(key) ? ", not sent" : ""}`] : ["conflict", "open"] };
};

const Side = ({ state, unsent, order, go }) => html`<aside class="work-side" aria-label="Conflicts to choose from">
  <p class="field"><label for="conflicts-order">Order</label>
    <select id="conflicts-order" onChange=${(event) => order(event.target.value)}>${Object.entries(ORDERS).map(([value, text]) => html`<option key=${value} value=${value} selected=${value === state.order}>${text}</option>`)}</select></p>
  <p class="small work-counts">${number(unsettled(state).length)} of ${number(state.records.length)} to settle${unsent.size > 0 && `, ${number(unsent.size)} not sent`}.</p>
  <${Lines} lines=${state.records.map(lineOf(state.facts, unsent))} place=${state.place} go=${go} />
</aside>`;

const Conflicts = ({ id, me, may }) => {
  const [, draw] = useReducer((n) => n + 1, 0);
  const session = useMemo(() => conflictSession({ id, me, changed: draw }), [id]);
  const [note, setNote] = useState({}); // by record, until it is settled
  const [folded, fold] = useState(false);
  const { state } = session;
  const unsent = session.unsent();
  const record = current(state);
  const finders = useMemo(() => findersOf(state.facts?.marked), [state.facts]);
  const toTitle = () => at("work-title")?.focus({ preventScroll: true });

  const act = (what, given) => {
    const here = current(session.state); // of now: the keys may be faster than the drawing
    const reasons = here ? factsOf(session.state.facts, here.stage).reasons : [];
    const settle = (word, reason) => {
      if (!may || !here) return;
      session.settle(word, { reason, note: note[here.key]?.trim() || null });
      setNote(({ [here.key]: kept, ...others }) => others);
    };
    const actions = {
      include: () => settle("include"),
      uncertain: () => settle("uncertain"),
      exclude: () => (may && reasons.length && session.state.open !== "reasons" ? session.tell({ kind: "opened", open: "reasons" }) : settle("exclude")),
      reason: () => settle("exclude", given),
      notes: () => at("conflicts-note")?.focus(),
      undo: () => may && session.undo(),
      next: () => session.tell({ kind: "went", place: session.state.place + 1 }),
      previous: () => session.tell({ kind: "went", place: session.state.place - 1 }),
      help: () => session.tell({ kind: "opened", open: "help" }),
      close: () => {
        if (session.state.open) session.tell({ kind: "opened", open: session.state.open });
        toTitle();
      },
    };
    if (typeof what === "number") reasons[what - 1] && settle("exclude", reasons[what - 1].text);
    else actions[what]?.();
  };

  useEffect(() => {
    session.load();
  }, [session]);
  useKeys(act, () => session.state.open === "reasons");
  // Another record is read from its beginning. Whoever uses the buttons keeps the button.
  useLayoutEffect(() => {
    if (!document.activeElement?.closest("#work-bar .work-decide, #work-bar .work-tools, .work-side")) toTitle();
    scrollUpTo(at("work-view"));
  }, [record?.key ?? ""]);

  const write = (text) => setNote((others) => ({ ...others, [record.key]: text }));
  const leave = (event) => ["Enter", "Escape"].includes(event.key) && toTitle();
  const bar = html`<${Bar} state=${record ? { ...state, facts: factsOf(state.facts, record.stage) } : state} may=${may} labels=${[]} act=${act} without=${["labels"]} />`;
  return html`<div class="work" id="work-view">
    ${record
      ? html`<article class="work-card" aria-label=${`Record ${number(record.number)}`}>
          <${Conflict} key=${record.key} record=${record} unsent=${unsent.has(record.key)} row=${state.rows.get(record.index)} facts=${state.facts} finders=${finders} folded=${folded} fold=${fold} note=${may && { text: note[record.key] || "", write, leave }} />
          ${state.problem && html`<p class="notice" role="alert">${state.problem} <button type="button" onClick=${session.load}>Try again</button></p>`}
          ${bar}
        </article>`
      : html`<div class="work-card"><${Done} id=${id} state=${state} unsent=${unsent} again=${session.load} />${bar}</div>`}
    <${PairsAgreement} id=${id} pairs=${state.pairs} facts=${state.facts} />
    ${state.records.length > 0 && html`<${Side} state=${state} unsent=${unsent} order=${session.order} go=${(place) => session.tell({ kind: "went", place })} />`}
    ${state.open === "help" && html`<${Help} close=${() => act("close")} keys=${KEYS} />`}
  </div>`;
};

export const show = ({ batch, me, scopes }, element) => {
  document.documentElement.classList.add("working");
  render(html`<${Conflicts} id=${batch.id} me=${me} may=${scopes.has("decide")} />`, element);
};

// The Work view: one record after the other is read and decided, with the keyboard or by touch.
import { ask } from "./api.js";
import { html, render, useEffect, useLayoutEffect, useMemo, useReducer, useState } from "./ui.js";
import { queue } from "./decision-queue.js";
import { findersOf } from "./marking.js";
import { at, number, scrollUpTo } from "./words.js";
import { AuditEnd, Drawn, KEYS as AUDIT_KEYS, useVerdict } from "./work-audit.js";
import { Bar } from "./work-bar.js";
import { Card } from "./work-card.js";
import { Copies } from "./work-copies.js";
import { Help, useKeys } from "./work-keys.js";
import { List } from "./work-list.js";
import { workSession } from "./work-session.js";
import { current, isAudited } from "./work-state.js";

const MARKING = "tamis.marking"; // in localStorage: whether words are marked, "no" or nothing

const remembered = () => localStorage.getItem(MARKING) !== "no";

const Marking = ({ on, turn }) => html`<p class="work-marking"><label><input type="checkbox" checked=${on} onChange=${(event) => turn(event.target.checked)} /> Highlight words for</label> <span class=${on ? "word include" : ""}>inclusion</span>, <span class=${on ? "word exclude" : ""}>exclusion</span></p>`;

const Nothing = ({ state, batch, may, again }) => {
  if (state.problem) return html`<div class="work-card"><p class="notice" role="alert">${state.problem}</p><p><button type="button" onClick=${again}>Try again</button></p></div>`;
  if (state.loading) return html`<div class="work-card"><p class="small">Loading records …</p></div>`;
  const done = state.filters.show === "todo" && !state.filters.q && !state.filters.outcome && !state.filters.reason && !state.filters.label && !state.filters.flagged;
  if (done && isAudited(state.facts)) return html`<${AuditEnd} batch=${batch} may=${may} facts=${state.facts} again=${again} />`;
  return html`<div class="work-card"><h2 id="work-title" tabindex="-1">${done ? "Nothing is left to decide" : state.records.length ? "End of the list" : "No record matches"}</h2>
    <p>${done ? "You have decided all your records." : "Change the search or a filter to see more records."}</p>
    <p class="actions"><button type="button" onClick=${again}>Reload records</button></p></div>`;
};

const Work = ({ batch, may }) => {
  const { id } = batch;
  const [, draw] = useReducer((n) => n + 1, 0);
  const session = useMemo(() => workSession({ id, changed: draw }), [id]);
  const [labels, setLabels] = useState([]);
  const [marking, setMarking] = useState(remembered);
  const { state } = session;
  const record = current(state);
  const audited = isAudited(state.facts);
  const undrawn = audited && !state.facts.audit; // nothing to choose from, nothing to decide
  const finders = useMemo(() => (marking ? findersOf(state.facts?.marked) : []), [marking, state.facts]);

  const act = (what, given) => {
    const reasons = session.state.facts?.reasons || []; // of now: the keys may be faster than the drawing
    const deciding = may && current(session.state);
    const close = () => {
      if (session.state.open) session.tell({ kind: "opened", open: session.state.open });
      at("work-title")?.focus({ preventScroll: true });
    };
    const exclude = () => (reasons.length && session.state.open !== "reasons" ? session.tell({ kind: "opened", open: "reasons" }) : session.decide("exclude"));
    const inReasons = (n) => session.state.open === "reasons" && reasons[n - 1] && session.decide("exclude", reasons[n - 1].text);
    const actions = {
      include: () => deciding && session.decide("include"),
      uncertain: () => deciding && session.decide("uncertain"),
      exclude: () => deciding && exclude(),
      reason: () => deciding && session.decide("exclude", given),
      notes: () => deciding && session.tell({ kind: "opened", open: "notes" }),
      labels: () => deciding && session.tell({ kind: "opened", open: "labels" }),
      undo: () => may && session.undo(),
      next: () => session.tell({ kind: "went", place: session.state.place + 1 }),
      previous: () => session.tell({ kind: "went", place: session.state.place - 1 }),
      help: () => session.tell({ kind: "opened", open: "help" }),
      search: () => { at("work-q").focus(); at("work-q").select(); },
      remark: () => {
        session.remark(given.field, given.text);
        if (given.field === "labels") setLabels((known) => [...new Set([...known, given.text.trim()])]);
        at("work-title")?.focus({ preventScroll: true });
      },
      close,
    };
    if (typeof what === "number") inReasons(what);
    else actions[what]();
  };

  useEffect(() => {
    session.load({ first: true });
    ask(`/v1/batches/${encodeURIComponent(id)}/labels`).then((answer) => answer.json()).then(({ items }) => setLabels(items.map(({ label }) => label)), () => {});
  }, [session]);
  useVerdict(session, id);
  useKeys(act, () => session.state.open === "reasons");
  // Another record is read from its beginning. Whoever uses the buttons keeps the button.
  const shown = record?.index ?? -1;
  useLayoutEffect(() => {
    const kept = document.activeElement?.closest("#work-bar .work-decide, #work-bar .work-tools, .work-side, .work-copies");
    if (!kept) at("work-title")?.focus({ preventScroll: true });
    scrollUpTo(at("work-view"));
  }, [shown]);

  return html`<div class="work" id="work-view">
    ${!undrawn && html`<div class="work-top">${audited ? html`<${Drawn} facts=${state.facts} counts=${state.counts} />` : state.counts && html`<p class="work-left">${number(state.counts.todo)} to do</p>`}<${Marking} on=${marking} turn=${(on) => { setMarking(on); localStorage.setItem(MARKING, on ? "yes" : "no"); }} /></div>`}
    <${Copies} id=${id} may=${may} changed=${() => session.load({ first: true })} />
    ${record ? html`<${Card} key=${record.index} record=${record} unsent=${queue.of(id).some(({ index, kind }) => index === record.index && kind !== "remark")} facts=${state.facts} finders=${finders} own=${may} take=${(field, text) => session.remark(field, text, true)} />` : html`<${Nothing} state=${state} batch=${batch} may=${may} again=${() => session.filter({})} />`}
    ${!undrawn && html`<${List} state=${state} labels=${labels} filter=${session.filter} go=${(place) => session.tell({ kind: "went", place })} more=${() => session.load()} />`}
    ${!undrawn && html`<${Bar} state=${state} may=${may} labels=${labels} act=${act} without=${audited ? ["undo"] : []} />`}
    ${state.open === "help" && html`<${Help} close=${() => act("close")} keys=${audited ? AUDIT_KEYS : undefined} />`}
  </div>`;
};

export const show = ({ batch, scopes }, element) => {
  document.documentElement.classList.add("working");
  render(html`<${Work} batch=${batch} may=${scopes.has("decide")} />`, element);
};

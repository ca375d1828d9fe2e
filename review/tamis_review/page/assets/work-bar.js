// What can be done with the record, always at the same place: decisions, reasons, a note, a label, the way on.
import { html, useLayoutEffect, useRef } from "./ui.js";
import { sayable, sayingOf } from "./work-state.js";

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const LETTERS = { include: "I", uncertain: "U", exclude: "E" };
const TOOLS = [["undo", "Undo", "Z"], ["notes", "Note", "N"], ["labels", "Label", "L"], ["previous", "Previous", "K"], ["next", "Next", "J"], ["help", "Keys", "?"]];
const DECIDING = new Set(["undo", "notes", "labels"]);

const Key = ({ children }) => html`<kbd aria-hidden="true">${children}</kbd>`;

const Reasons = ({ reasons, exclude, close }) => {
  const first = useRef();
  useLayoutEffect(() => first.current.focus({ preventScroll: true }), []);
  return html`<div class="work-panel" id="work-reasons" role="group" aria-labelledby="reasons-title">
    <p class="work-panel-title"><span id="reasons-title">Exclude, because …</span><span class="actions"><button type="button" ref=${first} onClick=${() => exclude(null)}>No reason<${Key}>E<//></button><button type="button" class="work-close" onClick=${close}>Close</button></span></p>
    <ul class="work-reasons">
      ${reasons.map(({ label, text }, n) => html`<li key=${label}><button type="button" aria-keyshortcuts=${n < 9 ? String(n + 1) : null} onClick=${() => exclude(text)}>${n < 9 && html`<${Key}>${n + 1}<//>`}<span>${text}</span></button></li>`)}
    </ul>
  </div>`;
};

const Writing = ({ field, known, keep, close }) => {
  const input = useRef();
  useLayoutEffect(() => input.current.focus({ preventScroll: true }), []);
  const send = (event) => {
    event.preventDefault();
    if (input.current.value.trim()) keep(field, input.current.value);
    else close();
  };
  const leave = (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    close();
  };
  return html`<form class="work-panel" onSubmit=${send} onKeyDown=${leave}>
    <p class="field"><label for="work-writing">${field === "labels" ? "Label, in your team’s words" : "Note on this record, visible to your team"}</label>
    <input type="text" id="work-writing" ref=${input} maxlength=${field === "labels" ? 100 : 2000} autocomplete="off" list=${field === "labels" ? "work-known" : null} /></p>
    ${field === "labels" && html`<datalist id="work-known">${known.map((one) => html`<option key=${one} value=${one} />`)}</datalist>`}
    <p class="actions"><button type="submit" class="main">Save ${field === "labels" ? "label" : "note"}</button><button type="button" onClick=${close}>Close</button></p>
  </form>`;
};

// `without`: tools that the view does not have.
export const Bar = ({ state, may, labels, act, without = [] }) => {
  const { facts, open, said } = state;
  const here = Boolean(state.records[state.place]);
  const words = may && facts ? Object.keys(LETTERS).filter((word) => sayable(facts, word)) : [];
  const close = () => act("close");
  return html`<div class="work-bar" id="work-bar" role="region" aria-label="Decision">
    <div class="work-inner">
      ${open === "reasons" && html`<${Reasons} reasons=${facts.reasons} exclude=${(reason) => act("reason", reason)} close=${close} />`}
      ${(open === "notes" || open === "labels") && html`<${Writing} key=${open} field=${open} known=${labels} keep=${(field, text) => act("remark", { field, text })} close=${close} />`}
      <p class="work-status" role="status" aria-live="polite">${said || (may ? "" : "To decide, use a key with the scope decide.")}</p>
      ${words.length > 0 && html`<div class="work-decide" role="group" aria-label="Decide">
        ${words.map((word) => html`<button type="button" key=${word} class=${word} disabled=${!here} aria-keyshortcuts=${LETTERS[word]} aria-expanded=${word === "exclude" && facts.reasons.length ? String(open === "reasons") : null} onClick=${() => act(word)}>${capital(sayingOf(facts, word))}<${Key}>${LETTERS[word]}<//></button>`)}
      </div>`}
      <div class="work-tools" role="group" aria-label="More">
        ${TOOLS.filter(([what]) => (may || !DECIDING.has(what)) && !without.includes(what)).map(([what, name, letter]) => html`<button type="button" key=${what} aria-keyshortcuts=${letter} onClick=${() => act(what)}>${name}<${Key}>${letter}<//></button>`)}
      </div>
    </div>
  </div>`;
};

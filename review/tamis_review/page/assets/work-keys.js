// The keys that decide on records, and the dialog that lists them.
import { html, useLayoutEffect, useRef } from "./ui.js";

const KEYS = [
  ["I", "include"],
  ["E", "exclude: opens the reasons"],
  ["1 – 9", "in the reasons: exclude for that reason"],
  ["Enter, E", "in the reasons: exclude without a reason"],
  ["U", "uncertain: another reviewer should see it"],
  ["Z", "undo my last decision"],
  ["N", "add a note"],
  ["L", "add a label"],
  ["J", "next record"],
  ["K", "previous record"],
  ["/", "search"],
  ["Esc", "close the open panel"],
  ["?", "show this list"],
];
const ACTIONS = { i: "include", e: "exclude", u: "uncertain", z: "undo", n: "notes", l: "labels", j: "next", k: "previous", "/": "search", "?": "help", Escape: "close" };

// The action of a pressed key; null where somebody writes, or where the browser's own commands begin.
const actionOf = (event) => {
  const { key, target } = event;
  if (event.defaultPrevented || event.repeat || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return null;
  if (target.closest("input:not([type=checkbox]), textarea, select, [contenteditable], dialog")) return null;
  if (/^[1-9]$/.test(key)) return Number(key);
  return ACTIONS[key] ?? ACTIONS[key.toLowerCase()] ?? null;
};

// Hands pressed keys on; digits while a reason is being chosen.
export const useKeys = (act, choosing) =>
  useLayoutEffect(() => {
    const pressed = (event) => {
      const action = actionOf(event);
      if (action === null || (typeof action === "number" && !choosing())) return;
      event.preventDefault();
      act(action);
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });

export const Help = ({ close, keys = KEYS }) => {
  const dialog = useRef();
  useLayoutEffect(() => dialog.current.showModal(), []);
  return html`<dialog class="work-help" ref=${dialog} onClose=${close} aria-labelledby="help-title">
    <h2 id="help-title">Keys</h2>
    <p class="small">Keys do nothing while you type in a field. Each key also has a button.</p>
    <table class="plain">
      <thead class="hidden"><tr><th scope="col">Key</th><th scope="col">Action</th></tr></thead>
      <tbody>${keys.map(([key, does]) => html`<tr key=${key}><th scope="row">${key.split(", ").map((one, n) => html`${n ? " or " : ""}<kbd>${one}</kbd>`)}</th><td>${does}</td></tr>`)}</tbody>
    </table>
    <p class="actions"><button type="button" class="main" onClick=${() => dialog.current.close()}>Close</button></p>
  </dialog>`;
};

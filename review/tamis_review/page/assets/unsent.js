// What every view's header says of decisions that are not in the ledger: how many are unsent and why, and which were
// refused. Whoever signs out or closes the tab meanwhile is told so.
import { keptEntries, queue } from "./decision-queue.js";
import { html, render, useLayoutEffect, useRef } from "./ui.js";
import { addressOf } from "./views.js";
import { at, say } from "./words.js";

const PATIENCE = 1000; // ms for which the gateway may take its time

// What else stays in sight at the top is below it.
new ResizeObserver(([{ target }]) => document.documentElement.style.setProperty("--unsent", `${target.offsetHeight}px`)).observe(at("unsent"));

let timer;
let shown = false; // whether anything is said of those that wait
let leaving = null; // what signs out, while somebody is asked
let inside = false; // on the way to another view, which goes on sending
let going = false; // told already, and gone on

const them = ({ length }) => (length === 1 ? "it" : "them");
const many = (entries) => {
  const remarks = entries.filter(({ kind }) => kind === "remark").length;
  const noun = remarks === entries.length ? ["label or note", "labels and notes"] : ["decision", remarks ? "decisions and notes" : "decisions"];
  return entries.length === 1 ? `1 ${noun[0]}` : `${entries.length} ${noun[1]}`;
};
const areUnsent = (entries, of = "") => html`<b>${many(entries)}${of} ${entries.length === 1 ? "is" : "are"} unsent.</b>`;

const Waiting = ({ person, waiting, problem, kept }) => {
  const [it, when] = [them(waiting), problem?.signedOut ? `when ${person} signs in with a valid key` : "later"];
  if (!problem) return html`<p><span>${areUnsent(waiting)} The gateway has not answered yet.</span></p>`;
  return html`<p><span>${areUnsent(waiting)} ${problem.text} ${kept ? `This browser keeps ${it} and sends ${it} ${when}.` : `This browser cannot store ${it}: keep this tab open.`}</span>${!problem.signedOut && html`<button type="button" onClick=${queue.send}>Send now</button>`}</p>`;
};

const here = new URLSearchParams(location.search).get("batch");

const Refused = ({ entry }) => html`<p><span><b>Record ${entry.index + 1}${entry.batch !== here && html` of <a href=${addressOf(entry.batch)}>batch ${entry.batch.slice(0, 8)}</a>`}, “${entry.said}”, was not saved:</b> ${entry.refused}</span><span class="actions"><button type="button" onClick=${queue.retry}>Send again</button><button type="button" onClick=${() => queue.drop(entry)}>Discard it</button></span></p>`;

const Leaving = ({ entries, person, kept, leave }) => {
  const dialog = useRef();
  useLayoutEffect(() => dialog.current.showModal(), []);
  const stay = () => {
    leaving = null;
    draw();
  };
  const it = them(entries);
  return html`<dialog ref=${dialog} onClose=${stay} aria-labelledby="leaving-text">
    <p id="leaving-text">${many(entries)} ${entries.length === 1 ? "is" : "are"} not in the ledger yet. ${kept ? `This browser keeps ${it} for ${person}, and sends ${it} when ${person} signs in here again. It sends ${it} for nobody else.` : `This browser cannot store ${it}: signing out loses ${it}.`}</p>
    <p class="actions"><button type="button" class="main" onClick=${() => dialog.current.close()}>Stay</button><button type="button" onClick=${leave}>Sign out</button></p>
  </dialog>`;
};

const pending = () => {
  const { waiting, refused } = queue.state();
  return [...waiting, ...refused];
};

const draw = (entry) => {
  const state = queue.state();
  const { waiting, refused, problem } = state;
  const late = waiting.length ? PATIENCE - (Date.now() - parseInt(waiting[0].id, 10)) : 0; // ms until the first is
  clearTimeout(timer);
  if (late > 0 && !problem) timer = setTimeout(draw, late);
  const before = shown;
  shown = waiting.length > 0 && (problem !== null || late <= 0);
  at("unsent").dataset.waiting = waiting.length + refused.length;
  render(html`${shown && html`<${Waiting} ...${state} />`}${refused.map((one) => html`<${Refused} key=${one.id} entry=${one} />`)}`, at("unsent"));
  render(leaving && html`<${Leaving} entries=${pending()} person=${state.person} kept=${state.kept} leave=${leaving} />`, at("leaving"));
  if (before && entry?.sent && !waiting.length && !refused.length) say("Everything is saved.");
};

// Nobody is signed in, or nobody knows who it is: what this browser keeps, of each person.
export const tellKept = (why) => {
  const all = keptEntries();
  const line = (person) => {
    const entries = all.filter((entry) => entry.person === person);
    return html`<p key=${person}><span>${areUnsent(entries, ` of ${person}`)} ${why} This browser keeps ${them(entries)} and sends ${them(entries)} when ${person} signs in.</span></p>`;
  };
  render([...new Set(all.map(({ person }) => person))].map(line), at("unsent"));
};

export const beginSending = (person) => {
  queue.watch(draw);
  queue.begin(person);
  addEventListener("click", ({ target, ctrlKey, metaKey, shiftKey }) => {
    const link = target.closest?.("a[href]");
    inside = link?.origin === location.origin && !link.hash && !(ctrlKey || metaKey || shiftKey);
  }, { capture: true });
  addEventListener("beforeunload", (event) => {
    if (pending().length && !(inside && queue.state().kept) && !going) event.preventDefault();
  });
};

// Signs out, once whoever has unsent decisions was told so.
export const leave = (signOut) => {
  leaving = () => {
    going = true;
    signOut();
  };
  if (pending().length) draw();
  else leaving();
};

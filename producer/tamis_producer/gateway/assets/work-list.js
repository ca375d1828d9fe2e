// The records that are loaded, and the filters by which the gateway chose them.
import { html, useEffect, useRef } from "/assets/ui.js";
import { ORDERS, sayingOf, SHOWN, wordOf } from "/assets/work-state.js";

const TYPING = 300; // ms after the last letter of a search
const BADGES = { include: "passed", exclude: "excluded", uncertain: "uncertain" };
const number = (n) => n.toLocaleString("en");

const Choice = ({ name, text, value, choices, filter, all }) => html`<p class="field"><label for=${`work-${name}`}>${text}</label>
  <select id=${`work-${name}`} value=${value} onChange=${(event) => filter({ [name]: event.target.value })}>
    ${all && html`<option value="">all</option>`}
    ${choices.map(([key, words]) => html`<option key=${key} value=${key} selected=${key === value}>${words}</option>`)}
  </select></p>`;

const Filters = ({ state, labels, filter }) => {
  const { filters, facts } = state;
  const typing = useRef();
  const search = (event) => {
    clearTimeout(typing.current);
    const q = event.target.value.trim();
    typing.current = setTimeout(() => filter({ q }), TYPING);
  };
  const outcomes = facts ? Object.entries(facts.names) : [];
  const reasons = facts ? facts.reasons.map(({ text }) => [text, text]) : [];
  return html`<form class="work-filters" role="search" aria-label="Records" onSubmit=${(event) => event.preventDefault()}>
    <p class="field"><label for="work-q">Search</label><input type="search" id="work-q" aria-keyshortcuts="/" defaultValue=${filters.q} onInput=${search} onKeyDown=${(event) => event.key === "Escape" && event.target.blur()} /></p>
    <${Choice} name="show" text="Show" value=${filters.show} choices=${Object.entries(SHOWN)} filter=${filter} />
    <${Choice} name="order" text="Order" value=${filters.order} choices=${Object.entries(ORDERS)} filter=${filter} />
    <details open=${Boolean(filters.outcome || filters.reason || filters.label)}><summary>More filters</summary>
      <${Choice} name="outcome" text="Decision" value=${filters.outcome} choices=${outcomes} filter=${filter} all />
      ${reasons.length > 0 && html`<${Choice} name="reason" text="Reason" value=${filters.reason} choices=${reasons} filter=${filter} all />`}
      ${labels.length > 0 && html`<${Choice} name="label" text="Label" value=${filters.label} choices=${labels.map((one) => [one, one])} filter=${filter} all />`}
    </details>
  </form>`;
};

const Line = ({ record, facts, here, go }) => {
  const word = record.mine && wordOf(facts, record.mine);
  return html`<li><button type="button" class="work-line" aria-current=${here ? "true" : null} onClick=${go}>
    <span class="n">${number(record.number)}</span><span class="name">${record.row.title || `(no title) ${record.row.id}`}</span>${word && html`<span class=${`badge ${BADGES[word] || ""}`}>${sayingOf(facts, word)}</span>`}
  </button></li>`;
};

export const List = ({ state, labels, filter, go, more }) => {
  const { facts, counts, records, place } = state;
  const list = useRef();
  useEffect(() => {
    const line = list.current?.querySelector("[aria-current]");
    if (!line) return; // the list scrolls, never the page
    const [top, box] = [line.offsetTop - list.current.offsetTop, list.current];
    if (top < box.scrollTop || top + line.offsetHeight > box.scrollTop + box.clientHeight) box.scrollTop = top - box.clientHeight / 3;
  }, [place, records.length]);
  const asked = ["q", "outcome", "reason", "label"].some((name) => state.filters[name]);
  const found = asked && counts && typeof counts.found === "number" ? `${number(counts.found)} found. ` : "";
  return html`<aside class="work-side" aria-label="Records to choose from">
    <${Filters} state=${state} labels=${labels} filter=${filter} />
    ${counts && html`<p class="small work-counts">${found}${number(counts.todo)} to do, ${number(counts.mine)} decided by me, of ${number(counts.records)}${counts.conflicts ? `; ${number(counts.conflicts)} in conflict` : ""}.</p>`}
    ${records.length > 0 && html`<ol class="work-list" ref=${list} aria-label="Loaded records">${records.map((record, n) => html`<${Line} key=${record.index} record=${record} facts=${facts} here=${n === place} go=${() => go(n)} />`)}</ol>`}
    ${state.next && html`<p><button type="button" onClick=${more} disabled=${state.loading}>More records</button></p>`}
  </aside>`;
};

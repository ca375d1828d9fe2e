// The records that are loaded, and the filters by which the gateway chose them.
import { html, useEffect, useRef, useState } from "./ui.js";
import { isAudited, LONGEST_SEARCH, ORDERS, sayingOf, SHOWN, wordOf } from "./work-state.js";

const TYPING = 300; // ms after the last letter of a search
export const BADGES = { include: "passed", exclude: "excluded", uncertain: "uncertain" };
const NARROWING = ["outcome", "reason", "label", "flagged"];
const number = (n) => n.toLocaleString("en");

const Choice = ({ name, text, value, choices, filter, all }) => html`<p class="field"><label for=${`work-${name}`}>${text}</label>
  <select id=${`work-${name}`} value=${value} onChange=${(event) => filter({ [name]: event.target.value })}>
    ${all && html`<option value="">all</option>`}
    ${choices.map(([key, words]) => html`<option key=${key} value=${key} selected=${key === value}>${words}</option>`)}
  </select></p>`;

const Filters = ({ state, labels, filter }) => {
  const { filters, facts } = state;
  const typing = useRef();
  const [unfolded] = useState(() => NARROWING.some((name) => filters[name])); // from then on it is as whoever works left it
  const search = (event) => {
    clearTimeout(typing.current);
    const q = event.target.value.trim();
    typing.current = setTimeout(() => filter({ q }), TYPING);
  };
  const outcomes = facts ? Object.entries(facts.names) : [];
  const audited = isAudited(facts); // its records have the order of the draw
  const shows = Object.entries(SHOWN).filter(([show]) => !audited || ["todo", "mine"].includes(show));
  const reasons = facts ? facts.reasons.map(({ text }) => [text, text]) : [];
  return html`<form class="work-filters" role="search" aria-label="Records" onSubmit=${(event) => event.preventDefault()}>
    <p class="field"><label for="work-q">Search</label><input type="search" id="work-q" maxlength=${LONGEST_SEARCH} aria-keyshortcuts="/" defaultValue=${filters.q} onInput=${search} onKeyDown=${(event) => event.key === "Escape" && event.target.blur()} /></p>
    <${Choice} name="show" text="Show" value=${filters.show} choices=${shows} filter=${filter} />
    ${!audited && html`<${Choice} name="order" text="Order" value=${filters.order} choices=${Object.entries(ORDERS)} filter=${filter} />`}
    ${(!audited || labels.length > 0) && html`<details open=${unfolded}><summary>More filters</summary>
      ${!audited && html`<${Choice} name="outcome" text="Decision" value=${filters.outcome} choices=${outcomes} filter=${filter} all />`}
      ${reasons.length > 0 && html`<${Choice} name="reason" text="Reason" value=${filters.reason} choices=${reasons} filter=${filter} all />`}
      ${labels.length > 0 && html`<${Choice} name="label" text="Label" value=${filters.label} choices=${labels.map((one) => [one, one])} filter=${filter} all />`}
      ${facts?.operation === "inclusion" && html`<p class="work-check"><input type="checkbox" id="work-flagged" checked=${Boolean(filters.flagged)} onChange=${(event) => filter({ flagged: event.target.checked ? "true" : "" })} /> <label for="work-flagged">Quote altered or not in the record</label></p>`}
    </details>`}
  </form>`;
};

// Records to go to: [{ key, number, title, badge: [kind, text] }], the one at `place` open.
export const Lines = ({ lines, place, go }) => {
  const list = useRef();
  useEffect(() => {
    const line = list.current?.querySelector("[aria-current]");
    if (!line) return; // the list scrolls, never the page
    const [box, here] = [list.current.getBoundingClientRect(), line.getBoundingClientRect()];
    if (here.top < box.top || here.bottom > box.bottom) list.current.scrollTop += here.top - box.top - box.height / 3;
  }, [place, lines.length]);
  return html`<ol class="work-list" ref=${list} aria-label="Loaded records">${lines.map(({ key, number: n, title, badge }, at) => html`<li key=${key}><button type="button" class="work-line" aria-current=${at === place ? "true" : null} onClick=${() => go(at)}>
    <span class="n">${number(n)}</span><span class="name">${title}</span>${badge && html`<span class=${`badge ${badge[0]}`}>${badge[1]}</span>`}
  </button></li>`)}</ol>`;
};

const lineOf = (facts) => ({ index, number: n, row, mine }) => {
  const word = mine && wordOf(facts, mine);
  return { key: index, number: n, title: row.title || `(no title) ${row.id}`, badge: word && [BADGES[word] || "", sayingOf(facts, word)] };
};

export const List = ({ state, labels, filter, go, more }) => {
  const { facts, counts, records, place } = state;
  const asked = ["q", ...NARROWING].some((name) => state.filters[name]);
  const found = asked && counts && typeof counts.found === "number" ? `${number(counts.found)} found. ` : "";
  return html`<aside class="work-side" aria-label="Records to choose from">
    <${Filters} state=${state} labels=${labels} filter=${filter} />
    ${counts && html`<p class="small work-counts">${found}${number(counts.todo)} to do, ${number(counts.mine)} decided by me, of ${number(counts.records)}${counts.conflicts ? `; ${number(counts.conflicts)} in conflict` : ""}.</p>`}
    ${records.length > 0 && html`<${Lines} lines=${records.map(lineOf(facts))} place=${place} go=${go} />`}
    ${state.next && html`<p><button type="button" onClick=${more} disabled=${state.loading}>More records</button></p>`}
  </aside>`;
};

// How far software and people agree, and people among themselves: each table, and the records behind each of its cells.
import { ask } from "./api.js";
import { pathOf, Problem, RecordLink, SHORT, Terminal } from "./quality-parts.js";
import { html, useEffect, useRef, useState } from "./ui.js";
import { number } from "./words.js";
import { sayingOf } from "./work-state.js";

const STAGES = { own: "", retrieval: ", report retrieval", "full-text": ", full texts" };

export const rounded = (value) => (Math.round(100 * value) / 100 + 0).toFixed(2); // nothing is -0.00
export const share = (value) => (value === null ? "–" : `${(100 * value).toFixed(1)}%`);
const ranged = (value, low, high) => (value === null ? "–" : `${rounded(value)} (${rounded(low)} to ${rounded(high)})`);

// What is compared: its name, who the two are, its figures, and how the gateway is asked for the records of its cells.
const tablesOf = (found) => [
  ...[["overrides", "overridden or confirmed"], ["audits", "audited exclusions"], ["together", "together"]].filter(([among]) => among !== "together" || (found.overrides.n && found.audits.n)).map(([among, name]) => ({ name: `Software and people, ${name}`, who: ["Software", "People"], one: found[among], asked: { among } })),
  ...found.people.map(({ stage, first, second, agreement }) => ({ name: `${first} and ${second}${STAGES[stage]}`, who: [first, second], one: agreement, asked: { among: "people", stage, first, second } })),
];

const Figures = ({ name, one }) => html`<tr><th scope="row">${name}</th><td class="number">${number(one.n)}</td><td class="number">${share(one.observed)}</td><td class="number">${ranged(one.kappa, one.kappa_low, one.kappa_high)}</td><td class="number">${ranged(one.ac1, one.ac1_low, one.ac1_high)}</td></tr>`;

// The table and the cell that an address leads to, as the Conflicts view names them: { stage, first, second, first_said, second_said }.
const led = Object.fromEntries(new URLSearchParams(location.search));
const leadsTo = ({ stage, first, second }) => led.first !== undefined && led.first === first && led.second === second && led.stage === stage;

const Behind = ({ batch, cell, close, title }) => {
  const [got, setGot] = useState(cell.first);
  const [problem, setProblem] = useState("");
  const more = async () => {
    setProblem("");
    try {
      const page = await cell.read(got.next);
      setGot({ ...page, items: [...got.items, ...page.items] });
    } catch (error) {
      setProblem(error.message);
    }
  };
  return html`<section class="quality-behind" aria-label=${title}>
    <p class="doing"><strong>${title}</strong><button type="button" onClick=${close}>Close the list</button></p>
    <ol>${got.items.map((record) => html`<li key=${record.index}><${RecordLink} batch=${batch} record=${record} /></li>`)}</ol>
    ${got.next !== null && html`<p><button type="button" onClick=${more}>More records</button></p>`}
    <${Problem} text=${problem} /></section>`;
};

const Table = ({ batch, table: { name, who, one, asked } }) => {
  const [open, setOpen] = useState(null);
  const [problem, setProblem] = useState("");
  const words = [...new Set(one.cells.map((cell) => cell.first_said))];
  const said = (word) => sayingOf(batch, word).replaceAll("_", " ");
  const at = (first, second) => one.cells.find((cell) => cell.first_said === first && cell.second_said === second);
  const titleOf = (cell) => `${number(cell.n)} ${cell.n === 1 ? "record" : "records"}: ${who[0]} ${said(cell.first_said)}, ${who[1]} ${said(cell.second_said)}`;
  const read = ({ first_said, second_said }) => async (after = null) => {
    const query = new URLSearchParams({ ...asked, first_said, second_said, ...(after !== null && { after }) });
    return (await ask(`${pathOf(batch)}/agreement/records?${query}`)).json();
  };
  const choose = async (cell) => {
    setProblem("");
    if (open?.of === cell) return setOpen(null);
    try {
      const found = read(cell);
      setOpen({ of: cell, read: found, first: await found() });
    } catch (error) {
      setProblem(error.message);
    }
  };
  const box = useRef();
  useEffect(() => {
    const cell = leadsTo(asked) && at(led.first_said, led.second_said);
    if (!cell?.n) return;
    choose(cell);
    box.current.scrollIntoView();
  }, []);
  return html`<div class="quality-pair" ref=${box}><div class="quality-scroll"><table class="quality-table">
      <caption>${name}</caption>
      <thead><tr><td></td><th scope="colgroup" colspan=${words.length}>${who[1]}</th></tr>
        <tr><th scope="col">${who[0]}</th>${words.map((word) => html`<th scope="col">${said(word)}</th>`)}</tr></thead>
      <tbody>${words.map((first) => html`<tr><th scope="row">${said(first)}</th>${words.map((second) => {
        const cell = at(first, second);
        return html`<td class=${first === second ? "same" : ""}>${cell.n ? html`<button type="button" aria-expanded=${open?.of === cell ? "true" : "false"} aria-label=${titleOf(cell)} onClick=${() => choose(cell)}>${number(cell.n)}</button>` : "0"}</td>`;
      })}</tr>`)}</tbody></table></div>
    ${one.no_kappa && html`<p class="small">No kappa: ${one.no_kappa}.</p>`}
    <${Problem} text=${problem} />
    ${open && html`<${Behind} key=${titleOf(open.of)} batch=${batch} cell=${open} title=${titleOf(open.of)} close=${() => setOpen(null)} />`}</div>`;
};

export const Agreement = ({ batch, found }) => {
  const tables = tablesOf(found).filter(({ one }) => one.n > 0);
  return html`${tables.length === 0 && html`<p>No record was decided by the software and a person, or by two people. Decide records in Work.</p>`}
    ${tables.length > 0 && html`<div class="quality-scroll" tabindex="0" role="group" aria-label="Figures of agreement"><table class="plain">
        <caption class="hidden">Agreement on the records that both decided</caption>
        <thead><tr><th scope="col">Who</th><th scope="col" class="number">Records</th><th scope="col" class="number">Agree</th><th scope="col" class="number">Cohen’s kappa</th><th scope="col" class="number">Gwet’s AC1</th></tr></thead>
        <tbody>${tables.map(({ name, one }) => html`<${Figures} name=${name} one=${one} />`)}</tbody></table></div>
      <p class="small">Brackets show 95% intervals. Overridden records are no random sample: people looked at them for a reason. Decisions of blind readers count as they were before the software’s was shown; other people saw it first. Audited records are a random sample, but only of exclusions, so kappa says nothing about them.</p>
      <h3>Records behind each number</h3>
      <div class="quality-pairs">${tables.map((table) => html`<${Table} key=${table.name} batch=${batch} table=${table} />`)}</div>`}
    ${found.undecided > 0 && html`<p class="small">${number(found.undecided)} omitted, without a decision of the software (uncertain, failed, cancelled, or a copy).</p>`}
    <${Terminal}>tamis agreement ${batch.id.slice(0, SHORT)}<//>`;
};

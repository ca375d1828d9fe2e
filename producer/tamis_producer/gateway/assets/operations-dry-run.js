// What a dry run found: records, calls, money and time, and the prompts of the first records. Nothing was submitted.
import { html, useEffect, useRef } from "/assets/ui.js";
import { duration, number } from "/assets/words.js";

const FEW = 0.1; // dollars; below, the fourth digit tells something

export const dollars = (amount) => (amount === null ? "price not known" : `$${Number(amount).toFixed(Number(amount) < FEW ? 4 : 2)}`);

const counted = (n, one, many) => `${number(n)} ${n === 1 ? one : many}`;

const recordsOf = ({ records, duplicates, asked, lost }) =>
  [
    `${counted(asked, "record is", "records are")} asked about`,
    records !== asked && `of ${number(records)}`,
    duplicates && `${counted(duplicates, "copy is", "copies are")} kept out`,
    lost && `${number(lost)} could not be read`,
  ].filter(Boolean).join(", ");

const callsOf = (found) => {
  const cached = found.models.reduce((sum, one) => sum + (one.cached || 0), 0);
  const more = found.models.some((one) => one.more_rounds) ? " in the first round; further rounds follow from the answers" : "";
  return `${number(found.calls)}${more}${cached ? `; ${number(cached)} answered already, at no cost` : ""}`;
};

const costOf = ({ cost, most_cost: most, max_cost: budget }) => {
  if (cost === null) return "The price of a model is not known.";
  const over = budget !== null && Number(budget) < Number(cost) ? ": less than that, so it pauses before its end" : "";
  return `about ${dollars(cost)}, ${dollars(most)} at most${budget === null ? "" : `; the budget is ${dollars(budget)}${over}`}`;
};

const timeOf = ({ models }) => {
  const longest = models.reduce((one, other) => (other.duration.seconds > one.duration.seconds ? other : one));
  return `${duration(longest.duration.seconds)} at least: ${longest.duration.bound}`;
};

const tokensOf = ({ models }) => models.map((one) => `about ${number(one.prompt_tokens)} of prompts and ${number(one.answer_tokens)} of answers (${one.basis})`).join("; ");

const Prompt = ({ sample, n }) => html`<details><summary>Prompt ${n + 1}: record ${sample.item_id}</summary>
  ${sample.messages.map((message) => html`<p class="small">${message.role}</p><pre tabindex="0">${message.content}</pre>`)}</details>`;

export const DryRun = ({ found }) => {
  const heading = useRef(null);
  useEffect(() => heading.current.focus(), [found]); // it may be out of sight, below the form
  const facts = {
    Records: recordsOf(found),
    [found.models.length > 1 ? "Models" : "Model"]: found.models.map((one) => one.model || "the workers’ own").join(", "),
    Calls: callsOf(found),
    Cost: costOf(found),
    Time: timeOf(found),
    Tokens: tokensOf(found),
  };
  return html`<h2 tabindex="-1" ref=${heading}>Dry run: nothing was submitted</h2>
    <dl class="operations-facts">${Object.entries(facts).map(([name, text]) => html`<div><dt>${name}</dt><dd>${text}</dd></div>`)}</dl>
    ${found.notes.length > 0 && html`<details><summary>${counted(found.notes.length, "note", "notes")} on what became no record</summary>
      <ul class="small">${found.notes.map((note) => html`<li>${note.file}, line ${note.line}: ${note.text}${note.n > 1 && ` (${number(note.n)} times)`}</li>`)}</ul></details>`}
    ${found.doubtful.length > 0 && html`<details><summary>${counted(found.doubts, "pair", "pairs")} of records that may be copies; both are asked about</summary>
      <ul class="small">${found.doubtful.map((pair) => html`<li>${pair.titles.map((title, n) => title || pair.ids[n]).join(" / ")}: ${pair.reason}</li>`)}</ul></details>`}
    ${found.models[0].samples.map((sample, n) => html`<${Prompt} key=${n} sample=${sample} n=${n} />`)}`;
};

// The stop rule: whether people may stop reading, with which promise, and what each promise costs from here.
import { ask } from "./api.js";
import { Closed, Figures, percent, Problem, shareOf, SHORT, Terminal } from "./quality-parts.js";
import { Prices } from "./quality-prices.js";
import { Sample } from "./quality-sample.js";
import { html, useEffect, useState } from "./ui.js";

const VERDICTS = { enough: "passed", "not yet": "uncertain", "cannot be promised": "failed" };

const command = (batch, { recall, confidence }, people) => `tamis stop ${batch.id.slice(0, SHORT)} --recall ${recall} --confidence ${confidence}${people ? "" : " --no-human-errors"}`;

const Wanted = ({ answer, people, look }) => {
  const asked = (event) => {
    event.preventDefault();
    const { recall, confidence, people: takes } = event.target.elements;
    look({ recall: shareOf(recall), confidence: shareOf(confidence) }, takes.checked);
  };
  return html`<form class="actions quality-promise" onSubmit=${asked} key=${`${answer.recall} ${answer.confidence}`}>
    <span class="field"><label for="quality-recall">Recall: includes to be found, in %</label><input type="number" id="quality-recall" name="recall" min="0.1" max="100" step="any" required defaultValue=${percent(answer.recall)} /></span>
    <span class="field"><label for="quality-confidence">Confidence of the promise, in %</label><input type="number" id="quality-confidence" name="confidence" min="0.1" max="99.99" step="any" required defaultValue=${percent(answer.confidence)} /></span>
    <button type="submit">Check promise</button>
    <span class="check"><input type="checkbox" id="quality-people" name="people" defaultChecked=${people} /><label for="quality-people">Allow for includes that people overlook, estimated from records that two people read</label></span></form>`;
};

const Looked = ({ batch, path, decide }) => {
  const [got, setGot] = useState({ people: true });
  const [problem, setProblem] = useState("");
  const { answer, people } = got;
  const told = async (request, takes = people) => {
    setProblem("");
    try {
      setGot({ answer: await (await request).json(), people: takes });
    } catch (error) {
      setProblem(error.message);
    }
  };
  const look = (promise, takes) => told(ask(`${path}/stop?${new URLSearchParams({ ...promise, human_errors: takes })}`), takes);
  useEffect(() => {
    look({}, true);
  }, []);
  if (!answer) return problem ? html`<${Problem} text=${problem} />` : html`<p class="small">Calculating …</p>`;
  return html`<${Wanted} answer=${answer} people=${people} look=${look} />
    <${Problem} text=${problem} />
    <div role="status"><p class=${`quality-verdict ${VERDICTS[answer.verdict]}`}>${answer.headline}</p></div>
    <${Sample} batch=${batch} path=${path} answer=${answer} people=${people} decide=${decide} told=${told} />
    <${Figures} name="State of the reading" heads=${["Value"]} rows=${answer.figures.map(({ name, value, meaning }) => ({ name, values: [value], about: meaning }))} />
    ${answer.unread > 0 && html`<${Prices} answer=${answer} choose=${(promise) => look(promise, people)} />`}
    ${answer.methods && html`<h3>For the methods section</h3><blockquote class="quality-methods">${answer.methods}</blockquote>`}
    <${Terminal}>${command(batch, answer, people)}<//>`;
};

export const Stop = (given) => html`<${Closed} text="Check whether reading may stop"><${Looked} ...${given} /><//>`;

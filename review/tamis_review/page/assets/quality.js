// The Quality view: how far the decisions of a batch can be trusted, one question in each section.
import { ask } from "./api.js";
import { Agreement } from "./quality-agreement.js";
import { Audits } from "./quality-audits.js";
import { Calibration } from "./quality-calibration.js";
import { Judge } from "./quality-judge.js";
import { Labels } from "./quality-labels.js";
import { isPanel, Panel } from "./quality-panel.js";
import { pathOf, Problem } from "./quality-parts.js";
import { Pilot } from "./quality-pilot.js";
import { Stop } from "./quality-stop.js";
import { html, render, useEffect, useState } from "./ui.js";
import { decidedByPeople } from "./views.js";
import { at } from "./words.js";

// The sections: where each is led to, what it is called, what it asks, and what of the gateway it begins with.
const SECTIONS = [
  ["agreement", "Agreement", "Do the software and people agree?", "agreement", ({ batch, found }) => html`<${Agreement} batch=${batch} found=${found} />`],
  ["panel", "Panel", "What does each model add, and do the models make the same errors?", null, (given) => html`<${Panel} ...${given} />`],
  ["stop", "Stop rule", "May people stop reading? What can they promise, and what does each promise cost?", null, (given) => html`<${Stop} ...${given} />`],
  ["pilot", "Pilot", "Where do your blind labels of a random sample differ from the software’s decisions?", null, (given) => html`<${Pilot} ...${given} />`],
  ["evaluate", "Evaluate by labels", "How good are the decisions, measured by a file of a person’s labels? The file is not kept.", null, ({ batch, path }) => html`<${Labels} batch=${batch} path=${path} />`],
  ["calibrate", "Calibrate", "From which score on must records be kept to lose hardly any include? This needs labels of a random sample. The file is not kept.", null, (given) => html`<${Calibration} ...${given} />`],
  ["audit", "Audit of exclusions", "How many excluded records should have been included, at most?", "audits", ({ batch, path, found, decide }) => html`<${Audits} batch=${batch} path=${path} first=${found.items} decide=${decide} />`],
  ["judge", "Judge the reasoning", "Are the software’s reasons the right kind of evidence, and how strong are they? A model judges them in a new batch.", null, (given) => html`<${Judge} ...${given} />`],
];

// What decides nothing has reasons that can be judged, and nothing else of these.
const offered = (batch) => SECTIONS.filter(([id]) => (id === "panel" ? isPanel(batch) : id === "judge" || decidedByPeople(batch)));

const Quality = (given) => {
  const { batch, decide } = given;
  const path = pathOf(batch);
  const sections = offered(batch);
  const [got, setGot] = useState({});
  useEffect(() => {
    const keep = (name, one) => setGot((all) => ({ ...all, [name]: one }));
    const reads = sections.map(([, , , name]) => name).filter(Boolean).map((name) => ask(`${path}/${name}`).then((answer) => answer.json()).then((found) => keep(name, { found }), (error) => keep(name, { problem: error.message })));
    Promise.all(reads).then(() => {
      at(location.hash.slice(1))?.scrollIntoView(); // it was not there when the browser looked for it
      document.documentElement.dataset.ready = "true";
    });
  }, []);
  const body = (name, show) => {
    if (!name) return show({ ...given, path });
    const { found, problem } = got[name] || {};
    if (problem) return html`<${Problem} text=${problem} />`;
    return found ? show({ batch, path, decide, found }) : html`<p class="small">Loading …</p>`;
  };
  return html`<div class="quality"><nav class="quality-nav" aria-label="Sections">${sections.map(([id, title]) => html`<a href=${`#quality-${id}`}>${title}</a>`)}</nav>
    ${sections.map(([id, title, question, name, show]) => html`<section key=${id} id=${`quality-${id}`} aria-labelledby=${`quality-${id}-title`}>
      <h2 id=${`quality-${id}-title`}>${title}</h2><p class="lead">${question}</p>${body(name, show)}</section>`)}</div>`;
};

export const show = ({ standing, batch, owner, scopes }, element) => {
  const given = { batch, owner, finished: standing.finished, decide: scopes.has("decide"), submit: scopes.has("submit") };
  render(html`<${Quality} ...${given} />`, element);
};

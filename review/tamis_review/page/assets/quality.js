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
  ["agreement", "Agreement", "Do software and people decide alike?", "agreement", ({ batch, found }) => html`<${Agreement} batch=${batch} found=${found} />`],
  ["panel", "Panel", "What has each of its models brought, and do they err together?", null, (given) => html`<${Panel} ...${given} />`],
  ["stop", "Stop rule", "May people stop reading, with a promise that can be checked, and what does each promise cost?", null, (given) => html`<${Stop} ...${given} />`],
  ["pilot", "Pilot", "What do you say of a random sample of the records, without knowing what the software said, and where do you differ?", null, (given) => html`<${Pilot} ...${given} />`],
  ["evaluate", "Evaluate by labels", "What are the decisions worth by a file of a person’s labels? Nothing of it is kept.", null, ({ batch, path }) => html`<${Labels} batch=${batch} path=${path} />`],
  ["calibrate", "Calibrate", "From which score on have records to be kept, so that hardly an include is lost? By labels of a random sample; nothing of it is kept.", null, (given) => html`<${Calibration} ...${given} />`],
  ["audit", "Audit of exclusions", "How many of the excluded records should have been included, at most?", "audits", ({ batch, path, found, decide }) => html`<${Audits} batch=${batch} path=${path} first=${found} decide=${decide} />`],
  ["judge", "Judge the reasoning", "Is what the software gives as its reasons evidence of the right kind, and how strong is it? A model judges each reasoning against its record, as a batch of its own.", null, (given) => html`<${Judge} ...${given} />`],
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
    return found ? show({ batch, path, decide, found }) : html`<p class="small">It is read …</p>`;
  };
  return html`<div class="quality"><nav class="quality-nav" aria-label="Sections">${sections.map(([id, title]) => html`<a href=${`#quality-${id}`}>${title}</a>`)}</nav>
    ${sections.map(([id, title, question, name, show]) => html`<section key=${id} id=${`quality-${id}`} aria-labelledby=${`quality-${id}-title`}>
      <h2 id=${`quality-${id}-title`}>${title}</h2><p class="lead">${question}</p>${body(name, show)}</section>`)}</div>`;
};

export const show = ({ standing, batch, owner, scopes }, element) => {
  const given = { batch, owner, finished: standing.finished, decide: scopes.has("decide"), submit: scopes.has("submit") };
  render(html`<${Quality} ...${given} />`, element);
};

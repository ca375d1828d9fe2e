// The Run view: what an operator needs of a batch while it goes, and after it.
import { html, render } from "./ui.js";
import { Decisions } from "./run-decisions.js";
import { Facts } from "./run-facts.js";
import { Failures } from "./run-failures.js";
import { Mode } from "./run-mode.js";
import { Labels, Priority } from "./run-parts.js";
import { progressOf } from "./progress.js";
import { decidedByPeople } from "./views.js";
import { at } from "./words.js";

const Run = ({ standing, scopes, act, flower }) => {
  const { batch } = standing;
  const path = `/v1/batches/${encodeURIComponent(batch.id)}`;
  const control = scopes.has("control");
  return html`<div class="run">
    <${Facts} batch=${batch} flower=${flower} />
    ${control && !["completed", "cancelled"].includes(batch.state) && html`<${Priority} path=${path} now=${batch.priority} />`}
    <${Failures} path=${path} standing=${standing} retry=${control && ((json) => act("retry", json))} />
    ${decidedByPeople(batch) && html`<${Mode} path=${path} control=${control} />${scopes.has("decide") && html`<${Decisions} id=${batch.id} path=${path} />`}<${Labels} path=${path} id=${batch.id} />`}
  </div>`;
};

export const show = async ({ standing, batch, scopes }, element) => {
  const flower = at("to-flower").hidden ? null : at("to-flower").href;
  const parts = document.createElement("div");
  element.replaceChildren(at("progress"), parts); // the one that stands above the figure, too
  document.querySelector('[data-action="retry"]').remove(); // it stands beside what failed
  const progress = progressOf(batch.id, standing, scopes, (now) => draw(now));
  const draw = (now) => render(html`<${Run} standing=${now} scopes=${scopes} act=${progress.act} flower=${flower} />`, parts);
  draw(standing);
  await progress.keepUp();
};

// The Team view: how far the model and people are, who has read how much, and a key for one more reader. No decision is shown.
import { ask } from "./api.js";
import { Bars, teamOf } from "./bars.js";
import { counted } from "./reviews.js";
import { html, render, useEffect, useRef, useState } from "./ui.js";
import { addressOf } from "./views.js";
import { number, say } from "./words.js";

const NEEDED = ["control", "read", "decide"]; // of the key that makes one: no key passes on more than it has

const when = (at) => new Date(at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });

const Person = ({ reviewer, read, last_week: week, last_at: last }) => html`<tr><th scope="row">${reviewer}</th><td class="number" data-name="Read">${number(read)}</td><td class="number" data-name="Last 7 days">${number(week)}</td><td data-name="Latest decision">${when(last)}</td></tr>`;

const People = ({ people }) => html`<section aria-labelledby="team-people-heading"><h2 id="team-people-heading">Readers</h2>
  ${people.length > 0 ? html`<table class="plain team-people"><thead><tr><th scope="col">Name</th><th scope="col" class="number">Records read</th><th scope="col" class="number">Last 7 days</th><th scope="col">Latest decision</th></tr></thead>
    <tbody>${people.map((person) => html`<${Person} key=${person.reviewer} ...${person} />`)}</tbody></table>` : html`<p>Nobody has decided a record yet.</p>`}</section>`;

const Invited = ({ name, secret, close }) => {
  const field = useRef(null);
  useEffect(() => field.current.select(), []);
  const copy = async () => {
    field.current.select();
    try {
      await navigator.clipboard.writeText(secret);
      say("The key is copied.");
    } catch {
      say("The browser does not copy it: the key is selected, press Ctrl+C.");
    }
  };
  return html`<p class="field"><label for="team-key">Key of ${name}</label><input type="text" id="team-key" ref=${field} readonly value=${secret} onChange=${() => field.current.select()} spellcheck="false" aria-describedby="team-once" /></p>
    <p class="actions"><button type="button" class="main" onClick=${copy}>Copy</button><button type="button" onClick=${close}>Hide the key</button></p>
    <p class="small" id="team-once">This key is shown once: Tamis keeps only a hash. Send it to ${name} in private, with this page’s address: ${location.origin}/</p>`;
};

const Invite = () => {
  const [name, setName] = useState("");
  const [secret, setSecret] = useState(null);
  const [problem, setProblem] = useState("");
  const invite = async (event) => {
    event.preventDefault();
    setProblem("");
    try {
      setSecret((await (await ask("/v1/readers", { method: "POST", json: { name } })).json()).key);
    } catch (error) {
      setProblem(error.message);
    }
  };
  const close = () => {
    setSecret(null);
    setName("");
  };
  return html`<section aria-labelledby="team-invite-heading"><h2 id="team-invite-heading">Invite a reader</h2>
    ${problem && html`<p class="notice" role="alert">${problem}</p>`}
    ${secret ? html`<div class="form"><${Invited} name=${name.trim()} secret=${secret} close=${close} /></div>` : html`<form class="form" onSubmit=${invite} aria-labelledby="team-invite-heading">
      <p class="field"><label for="team-name">Name in decisions</label><input type="text" id="team-name" required maxlength="100" autocomplete="off" value=${name} onInput=${(event) => setName(event.target.value)} aria-describedby="team-may" /></p>
      <p><button type="submit" class="main">Make a key</button></p>
      <p class="small" id="team-may">The reader can read and decide records of all batches, but cannot submit or control batches.</p></form>`}</section>`;
};

const Left = ({ id, team }) => html`<p>${team.conflicts > 0 ? html`<a href=${addressOf(id, "conflicts")}>${counted(team.conflicts, "conflict", "conflicts")} to settle</a>` : "No conflict is open on the records that you may see."} ${team.audit_due && html`<a href=${addressOf(id, "work")}>An audit is to be drawn.</a>`}</p>`;

const Team = ({ batch, team, scopes }) => html`<div class="team">
  <section aria-label="Progress"><${Bars} batch=${batch} team=${team} /><${Left} id=${batch.id} team=${team} /></section>
  ${team.people ? html`<${People} people=${team.people} />` : html`<p class="small">A key with the scope control shows how much each person has read.</p>`}
  ${NEEDED.every((scope) => scopes.has(scope)) && html`<${Invite} />`}
</div>`;

export const show = async ({ batch, scopes }, element) => {
  const team = await teamOf(batch);
  render(html`<${Team} batch=${batch} team=${team} scopes=${scopes} />`, element);
  document.documentElement.dataset.ready = "true";
};

// Fields of the form of operations. `form` holds what is typed: { values, set(name, value) }.
import { html } from "/assets/ui.js";

const idOf = (name) => `operation-${name}`;
const described = (name, about) => (about ? `${idOf(name)}-about` : null);
const About = ({ name, text }) => text && html`<p class="small" id=${described(name, text)}>${text}</p>`;

export const Text = ({ form, name, label, about, rows = 2, ...more }) => html`
  <p class="field"><label for=${idOf(name)}>${label}</label><textarea id=${idOf(name)} rows=${rows} value=${form.values[name]} onInput=${(event) => form.set(name, event.target.value)} aria-describedby=${described(name, about)} ...${more}></textarea></p>
  <${About} name=${name} text=${about} />`;

export const Input = ({ form, name, label, about, type = "text", ...more }) => html`
  <p class="field"><label for=${idOf(name)}>${label}</label><input type=${type} id=${idOf(name)} value=${form.values[name]} onInput=${(event) => form.set(name, event.target.value)} autocomplete="off" aria-describedby=${described(name, about)} ...${more} /></p>
  <${About} name=${name} text=${about} />`;

export const Count = (props) => html`<${Input} type="number" step="any" ...${props} />`;

export const Choice = ({ form, name, label, of }) => html`
  <p class="field"><label for=${idOf(name)}>${label}</label><select id=${idOf(name)} value=${form.values[name]} onChange=${(event) => form.set(name, event.target.value)}>${of.map(([value, text]) => html`<option value=${value}>${text}</option>`)}</select></p>`;

export const Check = ({ form, name, label }) => html`
  <p class="field check"><input type="checkbox" id=${idOf(name)} checked=${form.values[name]} onChange=${(event) => form.set(name, event.target.checked)} /><label for=${idOf(name)}>${label}</label></p>`;

// What was typed, as the gateway takes it.
export const linesOf = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);
export const numberOf = (text) => (text.trim() === "" ? null : Number(text));

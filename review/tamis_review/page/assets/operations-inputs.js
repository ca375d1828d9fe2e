// Fields of the form of an operation. `form` holds what is typed, and where something is wrong with it: { id, values, set(name, value), wrong };
// the ids of its fields begin with its own.
import { Said } from "./quality-parts.js";
import { html, useEffect } from "./ui.js";
import { at } from "./words.js";

export const idOf = (form, name) => `${form.id}-${name}`;

// What stands below a field, and what of it describes the field.
export const Below = ({ form, name, about }) => html`
  ${about && html`<p class="small" id=${`${idOf(form, name)}-about`}>${about}</p>`}
  ${form.wrong?.name === name && html`<p class="notice" role="alert" id=${`${idOf(form, name)}-wrong`}><${Said} text=${form.wrong.text} /></p>`}`;

export const described = (form, name, about) => ({
  "aria-describedby": [about && `${idOf(form, name)}-about`, form.wrong?.name === name && `${idOf(form, name)}-wrong`].filter(Boolean).join(" ") || null,
  "aria-invalid": form.wrong?.name === name ? "true" : null,
});

// Leads to the field with which something is wrong.
export const useWrong = (form) => useEffect(() => {
  const field = form.wrong && at(idOf(form, form.wrong.name));
  field?.closest("details:not([open])")?.setAttribute("open", "");
  field?.focus();
}, [form.wrong]);

export const Text = ({ form, name, label, about, rows = 2, ...more }) => html`
  <p class="field"><label for=${idOf(form, name)}>${label}</label><textarea id=${idOf(form, name)} rows=${rows} value=${form.values[name]} onInput=${(event) => form.set(name, event.target.value)} ...${described(form, name, about)} ...${more}></textarea></p>
  <${Below} form=${form} name=${name} about=${about} />`;

export const Input = ({ form, name, label, about, type = "text", ...more }) => html`
  <p class="field"><label for=${idOf(form, name)}>${label}</label><input type=${type} id=${idOf(form, name)} value=${form.values[name]} onInput=${(event) => form.set(name, event.target.value)} autocomplete="off" ...${described(form, name, about)} ...${more} /></p>
  <${Below} form=${form} name=${name} about=${about} />`;

export const Count = (props) => html`<${Input} type="number" step="any" ...${props} />`;

export const Choice = ({ form, name, label, of, about }) => html`
  <p class="field"><label for=${idOf(form, name)}>${label}</label><select id=${idOf(form, name)} value=${form.values[name]} onChange=${(event) => form.set(name, event.target.value)} ...${described(form, name, about)}>${of.map(([value, text]) => html`<option value=${value}>${text}</option>`)}</select></p>
  <${Below} form=${form} name=${name} about=${about} />`;

export const Check = ({ form, name, label }) => html`
  <p class="field check"><input type="checkbox" id=${idOf(form, name)} checked=${form.values[name]} onChange=${(event) => form.set(name, event.target.checked)} /><label for=${idOf(form, name)}>${label}</label></p>`;

// What was typed, as the gateway takes it.
export const linesOf = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);
export const numberOf = (text) => (text.trim() === "" ? null : Number(text));

// Several fields at once: as a small table, or as a JSON Schema.
import { Choice, linesOf, Text } from "./operations-inputs.js";
import { html } from "./ui.js";
import { complain } from "./words.js";

const TYPES = {
  text: ["text", { type: "string" }],
  integer: ["whole number", { type: "integer" }],
  number: ["number", { type: "number" }],
  boolean: ["yes or no", { type: "boolean" }],
  enum: ["one of", { type: "string" }],
  list: ["several texts", { type: "array", items: { type: "string" } }],
};

export const NO_FIELD = { name: "", type: "text", values: "", about: "" };

const property = ({ type, values, about }, name) => {
  const choices = values.split(",").map((one) => one.trim()).filter(Boolean);
  if (type === "enum" && !choices.length) throw new Error(`Field ${name}: list its values, separated by commas.`);
  return { ...TYPES[type][1], ...(type === "enum" ? { enum: choices } : {}), ...(about.trim() ? { description: about.trim() } : {}) };
};

const ofTable = (fields) => {
  const names = fields.map((field) => field.name.trim());
  const nameless = names.findIndex((name) => !name);
  if (nameless >= 0) throw new Error(`Field ${nameless + 1} has no name.`);
  const twice = names.find((name, n) => names.indexOf(name) < n);
  if (twice) throw new Error(`Two fields are called ${twice}: each needs its own name.`);
  const properties = Object.fromEntries(fields.map((field, n) => [names[n], property(field, names[n])]));
  return { type: "object", properties, required: names };
};

const ofText = (text) => {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`The JSON Schema is not valid JSON: ${error.message}`);
  }
};

const instructionOf = (line) => {
  const [name, ...rest] = line.split("=");
  if (!rest.length || !name.trim()) throw new Error(`Instructions for single fields: “${line}” is not NAME=INSTRUCTION.`);
  return [name.trim(), rest.join("=").trim()];
};

// The schema and the instructions of single fields, as the operation takes them.
export const fieldsOf = (values) => {
  if (values.described === "table") return { schema: ofTable(values.fields) };
  const single = linesOf(values.single).map(instructionOf);
  return { schema: ofText(values.schema), field_instructions: single.length ? Object.fromEntries(single) : null };
};

const Row = ({ n, field, change, take }) => {
  const typed = (name) => ({ value: field[name], onInput: (event) => change({ [name]: event.target.value }), type: "text", autocomplete: "off" });
  const named = (what) => `${what} of field ${n + 1}`;
  return html`<tr>
    <td data-name="Name"><input aria-label=${named("Name")} required ...${typed("name")} /></td>
    <td data-name="Type"><select aria-label=${named("Type")} value=${field.type} onChange=${(event) => change({ type: event.target.value })}>${Object.entries(TYPES).map(([type, [text]]) => html`<option value=${type}>${text}</option>`)}</select>
      ${field.type === "enum" && html`<input aria-label=${named("Values")} placeholder="RCT, cohort, other" ...${typed("values")} />`}</td>
    <td data-name="Description"><input aria-label=${named("Description")} ...${typed("about")} /></td>
    <td>${take && html`<button type="button" onClick=${take} aria-label=${`Remove field ${n + 1}`}>Remove field</button>`}</td></tr>`;
};

const Table = ({ fields, set }) => html`<table class="plain operations-fields">
    <caption class="hidden">The fields, each with its name, type and description</caption>
    <thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Description</th><td></td></tr></thead>
    <tbody>${fields.map((field, n) => html`<${Row} key=${n} n=${n} field=${field}
      change=${(what) => set(fields.map((one, m) => (m === n ? { ...one, ...what } : one)))}
      take=${fields.length > 1 && (() => set(fields.filter((_, m) => m !== n)))} />`)}</tbody></table>
  <p><button type="button" onClick=${() => set([...fields, NO_FIELD])}>Add a field</button></p>`;

const SchemaFile = ({ form }) => html`<p class="field"><label for=${`${form.id}-schema-file`}>Schema file (JSON)</label><input type="file" id=${`${form.id}-schema-file`} accept=".json" onChange=${(event) => event.target.files[0]?.text().then((text) => form.set("schema", text), complain)} /></p>`;

export const Fields = ({ form }) => {
  const { values, set } = form;
  const turn = (name, described) => {
    if (described === "schema" && !values.schema && values.fields.every((one) => one.name.trim())) set("schema", JSON.stringify(ofTable(values.fields), null, 2));
    set(name, described);
  };
  return html`<${Choice} form=${{ ...form, set: turn }} name="described" label="The fields are described" of=${[["table", "in a table"], ["schema", "by a JSON Schema"]]} />
    ${values.described === "table" ? html`<${Table} fields=${values.fields} set=${(fields) => set("fields", fields)} />` : html`
      <${SchemaFile} form=${form} />
      <${Text} form=${form} name="schema" label="JSON Schema of an object" rows=${10} spellcheck="false" required />
      <${Text} form=${form} name="single" label="Instructions for single fields, NAME=INSTRUCTION, one per line" />`}`;
};

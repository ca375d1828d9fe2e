// What the sections of the Quality view have in common: a problem, a command of the terminal, a link to a record.
import { html } from "/assets/ui.js";
import { addressOf } from "/assets/views.js";

const IN_TABLE = 20000; // records of a batch that its table holds; of a larger one a record is searched for

export const SHORT = 8; // letters of an id that a command takes

export const pathOf = (batch) => `/v1/batches/${encodeURIComponent(batch.id)}`;

export const Problem = ({ text }) => text && html`<p class="notice" role="alert">${text}</p>`;

export const Terminal = ({ children }) => html`<p class="small">On the terminal: <code>${children}</code></p>`;

export const Field = ({ id, text, about, children }) => html`<p class="field"><label for=${id}>${text}</label>${children}${about && html`<span class="small" id=${`${id}-about`}>${about}</span>`}</p>`;

const recordAddress = (batch, { index, title }) =>
  batch.counts.n_items <= IN_TABLE || !title
    ? `${addressOf(batch.id)}#record-${index + 1}`
    : `${addressOf(batch.id, "work")}&${new URLSearchParams({ show: "all", q: title })}`;

export const RecordLink = ({ batch, record }) => html`<a href=${recordAddress(batch, record)}>${record.index + 1}: ${record.title || record.item_id}</a>`;

// How an entry of the decision queue reaches the ledger: a decision, a withdrawal, a judgement of an audit, a label or a note.
import { ask, Problem } from "./api.js";

const OUTLASTS = 8000; // characters of a request that may outlast its page: browsers send 64 KiB of such requests

// As UUIDs of version 4 are made: randomUUID is for secure addresses alone, and a gateway may stand in a house's network.
export const newId = () => {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
};

// Reads the answer, too: one that nobody reads is cut off, and with it the connection that the next decision would take.
const post = async (path, json) => (await ask(path, { method: "POST", json, keepalive: JSON.stringify(json).length < OUTLASTS })).text();

// Resolves with the text of the gateway's answer; throws a Problem where it is refused.
export const send = async ({ batch, person, kind, decision, index, body, audit, stage = "own" }) => {
  const path = `/v1/batches/${encodeURIComponent(batch)}`;
  const item = `${path}/items/${index}`;
  if (kind === "remark") return post(`${item}/remarks`, body);
  if (kind === "audit") return post(`/v1/audits/${encodeURIComponent(audit)}/decisions`, body);
  if (kind === "decide") return post(`${item}/override`, { ...body, decision_id: decision });
  try {
    await ask(`${item}/override?${new URLSearchParams({ stage, decision_id: decision })}`, { method: "DELETE", keepalive: true });
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 422) throw error;
    const { items } = await (await ask(`${path}/overrides`)).json();
    if (items.some((one) => one.index === index && one.reviewer === person && one.stage === stage)) throw error;
  } // else there is none: it was refused itself
  return "";
};

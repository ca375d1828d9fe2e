// How an entry of the decision queue reaches the ledger: a decision, a withdrawal, a judgement of an audit, a label or a note.
import { ask, Problem } from "./api.js";

// As UUIDs of version 4 are made: randomUUID is for secure addresses alone, and a gateway may stand in a house's network.
export const newId = () => {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
};

// Reads the answer, too: one that nobody reads is cut off, and with it the connection that the next decision would take.
const post = async (path, json) => (await ask(path, { method: "POST", json })).text();

// `send` of the queue, for whoever `me` is: { kind: "decide" | "withdraw" | "remark" | "audit", index, body, stage, audit }.
export const senderOf = (batch, me) => async ({ kind, index, body, audit, stage = "own" }) => {
  const item = `${batch}/items/${index}`;
  if (kind === "remark") return post(`${item}/remarks`, body);
  if (kind === "audit") return post(`/v1/audits/${encodeURIComponent(audit)}/decisions`, body);
  if (kind === "decide") return post(`${item}/override`, body);
  const query = stage === "own" ? "" : `?stage=${stage}`;
  return ask(`${item}/override${query}`, { method: "DELETE" }).catch(async (error) => {
    if (!(error instanceof Problem) || error.status !== 422) throw error;
    const standing = await (await ask(`${batch}/overrides`)).json();
    if (standing.some((one) => one.index === index && one.reviewer === me && one.stage === stage)) throw error;
  }); // else it is withdrawn already, and the answer was lost
};

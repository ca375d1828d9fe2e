// A new review: files of records, criteria, a model, and what it would take; each step on one page, and the last one sends.
import { ask } from "./api.js";
import { begun, criteria, doubtSoon, fill, remember } from "./submission-criteria.js";
import { NOT_COMPLETE, NOT_READY, showRun } from "./submission-dry-run.js";
import { formOf, readFiles, reading, recordsRead } from "./submission-sources.js";
import { offerStages, severalStages, withStage } from "./submission-stages.js";
import { offerModes, termsOf } from "./submission-terms.js";
import { addressOf, addressOfReview } from "./views.js";
import { at, calm, complain, number, say } from "./words.js";

const BY_ITSELF = 2000; // records: what more of them would take is worked out when somebody asks for it

const example = async () => {
  const [records, text] = await Promise.all(["ris", "yaml"].map(async (ending) => (await ask(new URL(`example.${ending}`, import.meta.url))).text()));
  const held = new DataTransfer();
  held.items.add(new File([records], "citations.ris"));
  at("records-file").files = held.files;
  await Promise.all([fill(text), readFiles()]);
};

// A name for this attempt: sent again after a lost connection, it finds the batch that is there already.
const attempt = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

let key = attempt();

const send = async (path, headers = {}) => {
  const body = formOf({ ...termsOf(criteria()), ...reading() });
  return ask(path, { method: "POST", headers, body }).catch((error) => {
    throw new Error(withStage(error.message));
  });
};

const setMode = async (batch) => {
  if (at("mode-field").hidden || at("mode").value === "single") return;
  try {
    await ask(`/v1/batches/${encodeURIComponent(batch.id)}/mode`, { method: "PUT", json: { mode: at("mode").value } });
  } catch (error) {
    throw new Error(`The records are submitted, but the screening mode could not be set: ${error.message.replace(/\.$/, "")}. Submit again, or set it in Run.`);
  }
};

// The mode is set behind it: where that fails, it is said before anybody reads in the batch.
const submit = async () => {
  const answer = await send("/v1/files", { "Idempotency-Key": key });
  const { batch } = await answer.json();
  const title = at("review-title").value.trim();
  if (title && answer.headers.has("Idempotency-Replayed") && !batch.label.startsWith(`${title}: `)) {
    throw new Error(`These files were already submitted with the same settings: ${batch.label}, batch ${batch.id.slice(0, 8)}. No new review was created.`);
  }
  await setMode(batch);
  location.assign(severalStages() ? addressOfReview(batch.review_id) : addressOf(batch.id));
};

let [asking, again] = [false, false];
let looked = null; // the attempt that was looked at last

// One look at a time; what is changed meanwhile is looked at behind it.
const look = async () => {
  if (asking) {
    again = true;
    return;
  }
  asking = true;
  do {
    again = false;
    looked = key;
    showRun({ busy: true });
    try {
      const run = await (await send("/v1/dry-run")).json();
      if (!again) showRun({ run });
    } catch (error) {
      showRun({ note: error.message });
    }
  } while (again);
  asking = false;
};

const ready = () => at("new-batch").checkValidity() && begun() && recordsRead() > 0;

const lookByItself = () => {
  at("look").disabled = !ready();
  if (!ready()) {
    looked = null;
    showRun({ note: begun() && recordsRead() > 0 ? NOT_COMPLETE : NOT_READY });
  } else if (recordsRead() > BY_ITSELF) showRun({ note: `To see calls, cost and time for ${number(recordsRead())} records, press “Recalculate”.` });
  else if (looked !== key) look();
};

const PAUSE = 1500; // ms without a key
let waiting;

const lookSoon = () => {
  clearTimeout(waiting);
  waiting = setTimeout(lookByItself, PAUSE);
};

const onChange = async ({ target }) => {
  const named = "source" in target.dataset && recordsRead() <= BY_ITSELF; // larger files are not read again for a name
  if (["records-file", "encoding"].includes(target.id) || named) await readFiles();
  else if (target.id === "criteria-file" && target.files[0]) await fill(await target.files[0].text());
  else return; // a field that was left by a press on a button: what moves now moves the button away from under the click
  lookByItself();
};

// Whoever goes back to the page finds what they had chosen and typed: the browser puts it there, and says so to nobody.
const restored = async () => {
  await readFiles();
  if (at("criteria-file").files[0]) await remember(await at("criteria-file").files[0].text());
  doubtSoon();
  lookByItself();
};

export const submission = (mayControl) => {
  const form = at("new-batch");
  form.hidden = false;
  offerModes(mayControl);
  const trying = (work) => async (event) => {
    calm();
    try {
      await work(event);
    } catch (error) {
      complain(error);
    }
  };
  trying(restored)();
  const changed = () => { // something else is a batch of its own
    key = attempt();
    lookSoon();
  };
  offerStages(changed);
  form.addEventListener("input", ({ target }) => {
    changed();
    if (target.closest("#criteria")) doubtSoon();
  });
  form.addEventListener("change", trying(onChange));
  form.addEventListener("cancel", trying((event) => { // of a file's dialog: the same file was chosen again, which may hold something else by now
    key = attempt();
    return onChange(event);
  }));
  form.addEventListener("invalid", ({ target }) => { target.closest("details")?.setAttribute("open", ""); }, true); // else nobody sees what is wrong
  at("look").addEventListener("click", trying(look));
  at("use-example").addEventListener("click", trying(async () => {
    key = attempt();
    await example();
    lookByItself();
  }));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    at("submit").disabled = true;
    say("Sending records …");
    await trying(submit)();
    at("submit").disabled = false;
  });
};

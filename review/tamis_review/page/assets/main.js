// What this address shows. Every view is a page load of its own: the browser's history, focus and title work as ever.
import { ask, key, Problem } from "./api.js";
import { beginSending, leave, tellKept } from "./unsent.js";
import { isView, leadToViews, showPlace } from "./views.js";
import { at, calm, complain, nameOf } from "./words.js";

const asked = new URLSearchParams(location.search);

const title = (text) => {
  at("title").textContent = text;
  at("eyebrow").hidden = true;
  document.title = `${text} – Tamis`;
};

const show = async () => {
  const about = await (await ask("/v1/about")).json();
  const scopes = new Set(about.key.scopes);
  beginSending(about.key.label);
  at("site").hidden = false;
  const here = asked.has("batch") || asked.has("review") ? null : asked.get("new") === "operation" ? "to-operation" : asked.has("new") ? "to-new" : "to-batches";
  if (here) at(here).setAttribute("aria-current", "page");
  at("whose").textContent = `Signed in as ${about.key.label}`;
  at("to-new").hidden = at("to-operation").hidden = !scopes.has("submit");
  if (about.flower_url) {
    at("to-flower").href = about.flower_url;
    at("to-flower").hidden = false;
  }
  // Such a view is a module of its own: `show({ standing, batch, me, scopes }, element)` fills the element.
  if (asked.has("batch") && isView(asked.get("view"))) {
    title("Batch");
    const standing = await (await ask(`/v1/batches/${encodeURIComponent(asked.get("batch"))}`)).json();
    title(nameOf(standing.batch));
    leadToViews(at("views"), standing.batch, asked.get("view"));
    showPlace(at("eyebrow"), standing.batch, asked.get("view"));
    const { show: view } = await import(`./${asked.get("view")}.js`);
    await view({ standing, batch: standing.batch, me: about.key.label, scopes }, at("view"));
  } else if (asked.has("batch")) {
    title("Batch");
    await (await import("./batch.js")).showBatch(asked.get("batch"), scopes);
  } else if (asked.has("review")) {
    title("Review");
    await (await import("./review.js")).showReview(asked.get("review"), at("view"), title);
  } else if (asked.get("new") === "operation" && scopes.has("submit")) {
    title("Filter, score, extract, answer");
    (await import("./operations.js")).show(at("view"));
  } else if (asked.has("new") && scopes.has("submit")) {
    title("New review");
    (await import("./submission.js")).submission(scopes.has("control"));
  } else {
    title("Reviews and batches");
    await (await import("./overview.js")).overview(scopes.has("submit"));
  }
};

const signIn = () => {
  title("Sign in to Tamis");
  at("site").hidden = true;
  at("sign-in").hidden = false;
  tellKept("Nobody is signed in.");
  at("key").focus();
};

const begin = async () => {
  try {
    await show();
  } catch (error) {
    if (error instanceof Problem && (error.status === 401 || error.status === 403) && at("site").hidden) {
      key.forget();
      signIn();
    } else if (at("site").hidden) tellKept(error.message);
    complain(error);
  }
};

const IS_KEY = /^[\x21-\x7e]+$/; // what no header could carry is none

// The address that `tamis up` shows has the key behind its #, which is sent to nobody; it does not stay there.
const keyOfTheAddress = () => {
  const given = location.hash.match(/^#key=(.+)$/);
  if (!given) return;
  history.replaceState(null, "", location.pathname + location.search);
  if (IS_KEY.test(given[1])) key.set(given[1]);
};

at("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  calm();
  const given = at("key").value.trim();
  at("key").value = "";
  if (!IS_KEY.test(given)) {
    complain("This is not a key. A key begins with tamis_.");
    return;
  }
  key.set(given);
  at("sign-in").hidden = true;
  at("title").focus({ preventScroll: true });
  await begin();
});
at("sign-out").addEventListener("click", () => leave(() => {
  key.forget();
  location.assign("/");
}));

keyOfTheAddress();
if (key.get()) begin();
else signIn();

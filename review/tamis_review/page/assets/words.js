// Elements, and numbers as people read them.

export const at = (id) => document.getElementById(id);

export const make = (name, className, ...children) => {
  const element = document.createElement(name);
  if (className) element.className = className;
  element.append(...children);
  return element;
};

// Never downwards, and not behind what stays in sight at the top.
export const scrollUpTo = (element) => scrollTo(0, Math.min(scrollY, Math.max(0, element.getBoundingClientRect().top + scrollY - at("unsent").offsetHeight - 12)));

export const number = (n) => n.toLocaleString("en");

export const rate = (perSecond) => {
  if (!perSecond) return "–";
  return perSecond >= 1 ? `${perSecond.toFixed(1)}/s` : `${(60 * perSecond).toFixed(1)}/min`;
};

export const duration = (seconds) => {
  if (seconds === null) return "–";
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 90 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
};

export const done = (counts) => counts.n_items - counts.pending - counts.running;

export const nameOf = (batch) => batch.label || `${batch.operation.replaceAll("_", " ")} ${batch.id.slice(0, 8)}`;

const records = (n) => `${number(n)} ${n === 1 ? "record" : "records"}`;

// What becomes of a batch's records when it is cancelled now: the words of the dialog, and those of its buttons.
export const cancelling = ({ counts }) => ({
  question: [
    "Cancel this batch?",
    `Cancelled without a decision: ${records(counts.pending)}.`,
    counts.running ? `Finished first: the calls for ${records(counts.running)}.` : "",
    `Kept: ${number(counts.decided)} decided and ${number(counts.failed)} failed.`,
    "You cannot resume a cancelled batch. `tamis retry --cancelled` asks about its cancelled records again.",
  ].filter(Boolean).join(" "),
  yes: counts.pending ? `Cancel ${records(counts.pending)}` : "Cancel the batch",
  no: "Do not cancel",
});

const SAID_FOR = 8000; // ms in sight: long enough to be read, and nothing that matters is said here alone
let silence;

// Said once, to eyes and to screen readers; the same words twice in a row are said twice.
export const say = (text) => {
  clearTimeout(silence);
  at("said").textContent = "";
  requestAnimationFrame(() => {
    at("said").textContent = text;
  });
  silence = setTimeout(() => {
    at("said").textContent = "";
  }, SAID_FOR);
};

// What the gateway says: its commands, which stand in backquotes, as code.
export const phrased = (text) => text.split("`").map((part, n) => (n % 2 ? make("code", "", part) : part));

export const complain = (error) => {
  at("problem").replaceChildren(...phrased(error instanceof Error ? error.message : String(error)));
  at("problem").hidden = false;
};

export const calm = () => {
  at("problem").hidden = true;
};

// What a page does while nothing new can be read.
export const tellLost = (lost) => {
  if (lost) {
    complain("The gateway does not answer. This page may be out of date. It keeps trying.");
    return;
  }
  calm();
  say("The gateway answers again.");
};

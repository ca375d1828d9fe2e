// One record's whole story, fetched when somebody asks for it: prompts as sent, answers, rules and formulas, the bill.
import { ask } from "./api.js";
import { complain, make } from "./words.js";

const SHOWN_BESIDE = new Set(["Batch", "Record", "Criteria"]); // the details have them already
const OPEN = new Set(["Source", "Decision", "Human decisions", "Prompts and answers", "Cost"]);

// A heading is a line that begins with "# "; of foreign text every line is set in, so none can pass for one.
const sections = (text) =>
  text.split(/^# /m).slice(1).map((part) => {
    const end = part.indexOf("\n");
    return [part.slice(0, end), part.slice(end + 1).trimEnd()];
  });

export const explainer = (id) => {
  const story = async (index) => {
    const path = `/v1/batches/${encodeURIComponent(id)}/records/${index}/explanation?form=text`;
    const text = await (await ask(path)).text();
    return sections(text).filter(([heading]) => !SHOWN_BESIDE.has(heading)).map(([heading, lines]) => {
      const details = make("details", "", make("summary", "", heading), make("pre", "", lines));
      details.open = OPEN.has(heading);
      return details;
    });
  };

  // Stories that are open, by record: a table that is drawn anew shows them again, as long as nothing was decided since.
  const open = new Map();
  const standing = (row) => JSON.stringify([row.outcome, row.human, row.voices]);

  // What stands at the end of an open record's reasons.
  return (row) => {
    const before = open.get(row.i);
    const told = before?.standing === standing(row) ? before.told : make("div", "");
    told.id = `story-${row.i + 1}`;
    const button = make("button", "", "Prompts and answers");
    button.type = "button";
    button.dataset.part = "explain";
    button.setAttribute("aria-expanded", String(told.childNodes.length > 0));
    button.setAttribute("aria-controls", told.id);
    button.addEventListener("click", async () => {
      if (told.childNodes.length) {
        told.replaceChildren();
        open.delete(row.i);
        button.setAttribute("aria-expanded", "false");
        return;
      }
      button.disabled = true;
      try {
        told.replaceChildren(...(await story(row.i)));
        open.set(row.i, { standing: standing(row), told });
        button.setAttribute("aria-expanded", "true");
      } catch (error) {
        complain(error);
      }
      button.disabled = false;
      button.focus();
    });
    return make("div", "story", make("div", "actions", button), told);
  };
};

// The flow of records: the drawing of the report, and the same as a table.
import { ask, askDocument } from "./api.js";
import { at, make, number, phrased } from "./words.js";

const box = (given) => {
  const head = make("th", "", given.box);
  head.scope = "row";
  const first = make("tr", "box", make("td", "", given.phase), head, make("td", "number", number(given.n)));
  const parts = given.parts.map((part) =>
    make("tr", "", make("td", ""), make("td", `depth${part.depth}`, part.text), make("td", "number", part.n === null ? "" : number(part.n))),
  );
  return [first, ...parts];
};

// The drawing's boxes as a list, which a narrow window shows in its place.
const listed = (boxes) => {
  const counted = (text, n) => (n === null ? text : `${text} (n\u00a0=\u00a0${number(n)})`);
  const items = boxes.map((given, place) => {
    const begins = !given.side && given.phase !== boxes[place - 1]?.phase;
    const parts = given.parts.map((part) => make("span", `depth${part.depth}`, counted(part.text, part.n)));
    return make("li", given.side ? "side" : "", ...(begins ? [make("span", "phase", given.phase)] : []), make("b", "", counted(given.box.replace(/:$/, ""), given.n)), ...parts);
  });
  return make("ol", "flow-list", ...items);
};

// Of a batch or of a review, by its path.
export const showFlow = async (path) => {
  const route = `${path}/report`;
  let figures;
  try {
    figures = await (await ask(`${route}?form=json`)).json();
  } catch (error) {
    if (error.status !== 403) throw error;
    at("drawing").replaceChildren();
    at("drawing").nextElementSibling.hidden = true;
    at("warnings").replaceChildren(make("p", "notice", ...phrased(error.message))); // while people read blind
    return;
  }
  const drawing = await askDocument(`${route}?form=svg`);
  const svg = drawing.documentElement;
  for (const style of svg.querySelectorAll("style")) style.remove(); // the page's own follows light and dark
  at("drawing").replaceChildren(document.importNode(svg, true), listed(figures.boxes));
  at("drawing").nextElementSibling.hidden = false;
  at("boxes").replaceChildren(...figures.boxes.flatMap(box));
  at("warnings").replaceChildren(...figures.warnings.map((text) => make("p", "notice", text)));
};

// A text in pieces: which of them a model quoted, and which are words of the criteria.

const escaped = (text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&").replace(/\s+/g, "\\s+");

// Whole words, the longest first, in the singular or with an s.
const finder = (words) => {
  const known = [...new Set(words.filter((word) => word.trim()))].sort((a, b) => b.length - a.length);
  return known.length ? new RegExp(`(?<![\\p{L}\\p{N}])(?:${known.map(escaped).join("|")})(?:e?s)?(?![\\p{L}\\p{N}])`, "giu") : null;
};

// The headings of a structured abstract, where a sentence may begin: in capitals, or one of the usual ones.
export const HEADINGS = ["heading", /(?<=^|[.?!)\]]\s+|\n\s*)(?:\p{Lu}[\p{Lu} ,/&-]{3,60}|Background|Introduction|Objectives?|Aims?|Purpose|(?:(?:Materials|Patients) and )?[Mm]ethods?|Results|Findings|Discussion|Conclusions?):(?=\s)/gu];

// The finders of a batch: `marked` is {"include": [words], "exclude": [words]}.
export const findersOf = (marked) => Object.entries(marked || {}).map(([kind, words]) => [kind, finder(words)]).filter(([, found]) => found);

// Places of quotes count code points, as Python does; a string of JavaScript counts UTF-16 units.
const inUnits = (text, marks) => {
  if (!marks.length) return [];
  const at = [0];
  for (const point of text) at.push(at.at(-1) + point.length);
  const unit = (place) => at[Math.min(place, at.length - 1)];
  return marks.map(([start, end, label, altered]) => ({ start: unit(start), end: unit(end), label, altered: Boolean(altered) }));
};

// [{ text, quoted: [labels], ends: [labels of the quotes that end here], altered, word: "heading" | "include" | "exclude" | null }],
// which together are the text. Where a word is of both kinds it is the one that excludes.
export const pieces = (text, { marks = [], finders = [] }) => {
  const quotes = inUnits(text, marks);
  const words = finders.flatMap(([kind, finder]) => [...text.matchAll(finder)].map((found) => ({ kind, start: found.index, end: found.index + found[0].length })));
  const cuts = new Set([0, text.length]);
  for (const { start, end } of [...quotes, ...words]) cuts.add(start).add(end);
  const edges = [...cuts].sort((a, b) => a - b);
  const cut = [];
  for (let n = 0; n + 1 < edges.length; n += 1) {
    const [start, end] = [edges[n], edges[n + 1]];
    const over = ({ start: from, end: to }) => from <= start && to >= end;
    const quoting = quotes.filter(over);
    const kinds = words.filter(over).map(({ kind }) => kind);
    cut.push({
      text: text.slice(start, end),
      quoted: quoting.map(({ label }) => label),
      ends: quoting.filter((quote) => quote.end === end).map(({ label }) => label),
      altered: quoting.some(({ altered }) => altered),
      word: kinds.includes("exclude") ? "exclude" : kinds[0] ?? null,
    });
  }
  return cut;
};

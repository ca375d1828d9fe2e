"use strict";
// The quotes of a record's verdicts: what became of each, and where an altered one differs from the record.
const quotesMadeWith = (make) => {
  const says = {
    found: (field) => (field ? ` in ${field}` : ""),
    altered: (field) => `This quote is altered: the marked words differ from ${field || "the record"}.`,
    "not found": () => "This quote is not in the record.",
  };

  const aloud = (text) => make("span", "hidden", text);

  // The quote's own words struck out, the record's behind them. Places count code points, as Python does.
  const compared = (quote, differences) => {
    const points = Array.from(quote);
    const pieces = [];
    let reached = 0;
    for (const [start, end, recorded] of differences) {
      pieces.push(points.slice(reached, start).join(""));
      if (start < end) pieces.push(make("del", "", aloud("[quoted: "), points.slice(start, end).join(""), aloud("]")));
      if (recorded) pieces.push(" ", make("ins", "", aloud("[in the record: "), recorded, aloud("]")));
      reached = end;
    }
    return [...pieces, points.slice(reached).join("")];
  };

  return {
    shown: (quote, state, field, differences = []) => [
      make("blockquote", "", "“", ...compared(quote, differences), "”"),
      make("span", state === "found" ? "by" : "flag", says[state](field)),
    ],
    // What a flagged record's row says of them.
    flags: (verdicts = []) => {
      const states = new Set(verdicts.map(([, , , state]) => state));
      const altered = states.has("altered") ? ["quote altered"] : [];
      return states.has("not found") || !altered.length ? [...altered, "quote not in the record"] : altered;
    },
  };
};

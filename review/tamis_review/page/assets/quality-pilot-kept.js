// A pilot's labels, kept in this browser alone, under the key's id and the batch: how many were drawn, with which seed, and what was said of the first of them.

export const keptPilot = (owner, batch) => {
  const name = `tamis.pilot.${owner}.${batch}`;
  return {
    get: () => JSON.parse(localStorage.getItem(name)),
    put: (pilot) => {
      try {
        localStorage.setItem(name, JSON.stringify(pilot));
      } catch {
        // where the browser keeps nothing, labels last as long as the tab: what is shown is not lost by it
      }
    },
    drop: () => localStorage.removeItem(name),
  };
};

const cell = (text) => `"${String(text).replaceAll('"', '""')}"`;

// The labelled records as the table that `tamis pilot` writes and people fill in: by its seed it is known for the draw that it is.
export const tableOf = ({ seed, records }, labels) => {
  const rows = labels.map((include, n) => [seed, records[n].index, cell(records[n].id), include ? "yes" : "no"].join(","));
  return new File([["seed,index,id,include", ...rows, ""].join("\n")], "the labels given on the page.csv", { type: "text/csv" });
};

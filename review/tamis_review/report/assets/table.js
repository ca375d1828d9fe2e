"use strict";
// The table of decisions: search, filter, sort, pages, details. Every text of a record becomes a text node, never HTML.
// `facts` has the words; `rows` are the records in their order; `decide`, where somebody may decide, gives what stands
// below a record's reasons. Fills the elements of table.html.jinja, once; what it returns changes rows afterwards.
const decisionTable = (facts, rows, decide = null) => {
  const at = (id) => document.getElementById(id);
  const body = at("rows");
  const heads = [...document.querySelectorAll("#table thead th")];
  const order = Object.keys(facts.names);
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const view = { terms: [], outcome: "", reason: "", flagged: false, human: false, sort: "i", down: false, page: 0, size: 100 };
  const expanded = new Set();
  let allOpen = false;
  let shown = rows;
  let haystacks = null;

  const narrow = matchMedia("screen and (max-width: 52rem)"); // two columns less: what they hold stands below the title
  const columns = () => (narrow.matches ? heads.length - 2 : heads.length);

  const number = (n) => n.toLocaleString("en");
  const make = (name, className, ...children) => {
    const element = document.createElement(name);
    if (className) element.className = className;
    element.append(...children);
    return element;
  };
  const link = (text, address) => {
    const made = make("a", "", text);
    made.href = address;
    if (!address.startsWith("#")) Object.assign(made, { target: "_blank", rel: "noreferrer" }); // the table stays open
    return made;
  };
  const quotes = quotesMadeWith(make);
  const byHand = (row) => row.human && !row.human.confirms; // what the software gives as reason and confidence is not theirs
  const inConflict = (row) => row.outcome === "conflict"; // people decided differently: nobody's decision counts
  const softwareWhy = (row) => row.systemReason || row.why || ""; // where people decided: it stays beside theirs
  const reasonOf = (row) => byHand(row) ? row.human.note || row.human.value || "" : row.reason || row.value || (row.values ? row.values.map(([n, v]) => `${n}: ${v ?? "–"}`).join("; ") : "");

  // Search: every word, or "phrase", somewhere in the record or in what was said of it; accents and case do not count.
  const fold = (text) => text.normalize("NFKD").replace(/\p{M}+/gu, "").toLowerCase();
  const words = (row) => [
    row.id, row.title, row.by, ...(row.ids || []).map(([text]) => text), reasonOf(row), row.why, row.error, row.matched,
    row.systemReason, row.because, row.value, row.human?.by, row.human?.note, row.human?.value,
    ...(row.voices || []).flatMap((voice) => [voice.by, voice.note]),
    ...(row.fields || []).map((field) => field.text),
    ...(row.verdicts || []).map((verdict) => verdict[2]),
    ...(row.later || []).flatMap((said) => [reasonOf(said), said.why, said.error]),
  ];
  const haystack = (n) => {
    haystacks ??= new Array(rows.length);
    return (haystacks[n] ??= fold(words(rows[n]).filter(Boolean).join("\n")));
  };

  const keep = (row, n) =>
    (!view.outcome || row.outcome === view.outcome) &&
    (!view.reason || row.reason === view.reason) &&
    (!view.flagged || row.flagged || row.weak || row.cut) &&
    (!view.human || row.human || row.voices) &&
    view.terms.every((term) => haystack(n).includes(term));

  const keys = {
    i: (row) => row.i,
    title: (row) => row.title || row.id,
    outcome: (row) => order.indexOf(row.outcome),
    sure: (row) => (byHand(row) || inConflict(row) ? null : row.sure ?? null),
    reason: (row) => measured(row) ?? (reasonOf(row) || null),
  };
  const measured = (row) => (row.value && !row.human && Number.isFinite(Number(row.value)) ? Number(row.value) : null); // a number sorts as one
  let placed = new Map(); // places in an order that somebody gave
  keys.given = (row) => placed.get(row.i) ?? null;
  const sorted = (list) => {
    if (view.sort === "i") return view.down ? list.slice().reverse() : list;
    const key = keys[view.sort];
    const sign = view.down ? -1 : 1;
    const keyed = list.map((row) => [key(row), row]);
    keyed.sort(([a, x], [b, y]) => {
      if (a === null || b === null) return a === b ? x.i - y.i : a === null ? 1 : -1; // without a value: always last
      return sign * (typeof a === "number" && typeof b === "number" ? a - b : collator.compare(String(a), String(b))) || x.i - y.i;
    });
    return keyed.map(([, row]) => row);
  };

  const pages = () => Math.max(1, Math.ceil(shown.length / (view.size || Infinity)) || 1);

  const update = (toFirst = true) => {
    shown = sorted(rows.filter(keep));
    if (toFirst) view.page = 0;
    render();
  };

  const render = () => {
    view.page = Math.min(view.page, pages() - 1);
    const size = view.size || shown.length;
    const first = view.page * size;
    const list = shown.slice(first, first + size);
    body.replaceChildren(...list.flatMap((row) => (isOpen(row) ? [line(row), detail(row)] : [line(row)])));
    if (!list.length) {
      const cell = make("td", "", "No record matches. “Clear filters” shows all records.");
      cell.colSpan = columns();
      body.append(make("tr", "nothing", cell));
    }
    const range = list.length ? ` Rows ${number(first + 1)} to ${number(first + list.length)} are shown.` : "";
    at("status").textContent =
      shown.length === rows.length
        ? `${number(rows.length)} records.${range}`
        : `${number(shown.length)} of ${number(rows.length)} records match.${range}`;
    at("page").textContent = `Page ${number(view.page + 1)} of ${number(pages())}`;
    for (const button of document.querySelectorAll("[data-page]")) {
      const back = button.dataset.page === "first" || button.dataset.page === "previous";
      button.disabled = back ? view.page === 0 : view.page >= pages() - 1;
    }
    for (const head of heads) {
      if (head.firstElementChild.dataset.sort === view.sort) head.setAttribute("aria-sort", view.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
  };

  const isOpen = (row) => allOpen !== expanded.has(row.i);

  const line = (row) => {
    const toggle = make("button", "toggle", number(row.i + 1));
    toggle.type = "button";
    toggle.setAttribute("aria-expanded", String(isOpen(row)));
    toggle.setAttribute("aria-controls", `detail-${row.i + 1}`);
    toggle.setAttribute("aria-label", `Record ${row.i + 1}: details`);
    const title = make("span", "title", row.title || `(no title) ${row.id}`);
    const record = make("th", "", title);
    record.scope = "row";
    if (row.by) record.append(make("span", "by", row.by));
    const decision = make("td", "", badge(row));
    if (row.flagged) for (const text of quotes.flags(row.verdicts)) decision.append(make("span", "flag", text));
    if (row.because && row.outcome === "uncertain") decision.append(make("span", "by", row.because));
    if (row.weak) decision.append(make("span", "flag", "blocked: evidence too weak"));
    if (row.cut) decision.append(make("span", "flag", "not sent in full"));
    if (row.human) decision.append(make("span", "human", byHuman(row)));
    if (inConflict(row)) decision.append(make("span", "human", row.voices.map((voice) => `${voice.by}: ${voice.value}`).join("; ")));
    const sure = make("td", "sure");
    if (row.sure !== undefined) sure.append(byHand(row) || inConflict(row) ? make("span", "by", `software: ${row.sure.toFixed(2)}`) : row.sure.toFixed(2));
    if (row.before !== undefined) sure.append(make("span", "by", `${row.before.toFixed(2)} before`));
    const text = row.outcome === "duplicate" && row.copy !== undefined ? `copy of record ${number(row.copy + 1)}` : reasonOf(row) || (byHand(row) ? "" : row.why) || "";
    if (text) record.append(make("span", "narrow", text));
    const pairs = row.values && !byHand(row) ? row.values.map(([name, value]) => make("span", "pair", make("i", "", `${label(name)}: `), value ?? "–")) : [];
    const why = make("td", "why", ...(pairs.length ? pairs : [make("span", "reason", text)]));
    if (byHand(row) && softwareWhy(row)) why.append(make("span", "by", `software: ${softwareWhy(row)}`));
    const tr = make("tr", isOpen(row) ? "row open" : "row", make("td", "", toggle), record, decision, sure, why);
    tr.id = `record-${row.i + 1}`;
    toggle.addEventListener("click", () => {
      expanded.has(row.i) ? expanded.delete(row.i) : expanded.add(row.i);
      const open = isOpen(row);
      toggle.setAttribute("aria-expanded", String(open));
      tr.classList.toggle("open", open);
      if (open) tr.after(detail(row));
      else at(`detail-${row.i + 1}`)?.remove();
    });
    tr.dataset.index = row.i;
    return tr;
  };

  const byHuman = (said, names = facts.names) =>
    said.human.confirms ? `confirmed by ${said.human.by}` : `by ${said.human.by}; software: ${names[said.system] || said.system}`;

  const outcomeOf = (said, names = facts.names) => (said.hidden ? "hidden" : names[said.outcome] || said.outcome); // read blind: who has decided is not told
  const badge = (said, names) => make("span", `badge ${said.outcome}`, outcomeOf(said, names));

  const detail = (row) => {
    const reasons = make("div", "");
    const part = (heading, ...content) => reasons.append(make("h3", "", heading), ...content);
    const saying = (heading, text) => text && part(heading, make("p", "", text));
    if (row.human) {
      part("Decided by a human", ...humanSays(row));
      const sure = row.sure === undefined ? "" : ` confidence ${row.sure.toFixed(2)}`;
      if (byHand(row)) part("Decision of the software", make("p", "", badge({ outcome: row.system }), sure));
      if (row.systemReason && row.systemReason !== row.reason && row.system !== "failed") saying("Reason of the software", row.systemReason);
    }
    if (row.voices) {
      const each = row.voices.map((voice) => make("p", "", `${voice.by}: ${voice.value}${voice.settles ? ", settles the record" : ""}, ${voice.at}${voice.note ? `: ${voice.note}` : ""}`));
      part(inConflict(row) ? "Conflict: reviewers disagree, and no decision counts" : "Decisions of each reviewer", ...each);
      if (inConflict(row)) {
        part("Decision of the software", make("p", "", badge({ outcome: row.system }), row.sure === undefined ? "" : ` confidence ${row.sure.toFixed(2)}`));
        if (row.systemReason && row.system !== "failed") saying("Reason of the software", row.systemReason);
      }
    }
    if (row.outcome === "excluded") saying("Exclusion reason", row.reason);
    if (row.outcome === "ineligible") saying("Rule of the initial filter", row.reason);
    saying("Value", row.value);
    if (row.before !== undefined) saying("Confidence", `${row.before.toFixed(2)} before, ${row.sure.toFixed(2)} with this evidence${row.weak ? "; blocked: too weak to keep" : ""}`);
    if (row.values) part("Fields", values(row.values));
    saying(row.outcome === "duplicate" || row.outcome === "ineligible" ? "Why" : byHand(row) || inConflict(row) ? "Rationale of the software" : "Rationale", row.why);
    if (row.outcome === "duplicate" && row.copy !== undefined) {
      const copied = link(`Record ${number(row.copy + 1)}`, `#record-${row.copy + 1}`);
      part("Record kept instead", make("p", "", copied, rows[row.copy]?.title ? `: ${rows[row.copy].title}` : ""));
    }
    saying("Not sent to the model in full", row.cut);
    saying("Matched text", row.matched);
    if (row.said || row.saidSure !== undefined) {
      const said = [row.said && `decision “${row.said}”`, row.saidSure !== undefined && `confidence ${row.saidSure.toFixed(2)}`];
      saying("Model's answer before the software's checks", said.filter(Boolean).join(", "));
    }
    saying("Reason for the status uncertain", row.because && capital(row.because));
    if ((row.system || row.outcome) === "failed") saying("Error", [row.systemReason || row.reason, row.error].filter(Boolean).join(": "));
    if (row.verdicts) part("Verdict for each criterion", verdicts(row.verdicts));
    for (const said of row.later || []) part(`Stage ${said.stage + 1}: ${facts.stages[said.stage].noun}`, later(said));
    if (!reasons.childNodes.length) saying("Decision", outcomeOf(row));

    const record = make("div", "");
    const ids = (row.ids || []).flatMap(([text, address]) => [" · ", address ? link(text, address) : text]);
    record.append(make("h3", "", "Record"), make("p", "", `No. ${number(row.i + 1)}`, ...ids));
    if (row.hidden) {
      const criteria = Object.entries(facts.criteria).map(([name, { text }]) => make("p", "", make("b", "", name), ` ${text}`));
      if (criteria.length) part("Criteria", ...criteria);
    }
    for (const field of row.fields || []) {
      const more = field.cut ? [` […] ${number(field.cut)} more characters are in the ledger.`] : [];
      record.append(make("h3", "", label(field.name)), make("p", "text", ...marked(field), ...more));
    }
    if (row.title && !(row.fields || []).some((field) => field.name === "abstract" || field.name === "context")) {
      record.append(make("h3", "", "Abstract"), make("p", "", "This record has no abstract."));
    }
    if (decide) reasons.append(decide(row));
    const cell = make("td", "", make("div", "panel", reasons, record));
    cell.colSpan = columns();
    const tr = make("tr", "detail", cell);
    tr.id = `detail-${row.i + 1}`;
    tr.dataset.index = row.i;
    return tr;
  };

  const humanSays = (said, names = facts.names) => {
    const value = said.human.value;
    const line = make("p", "", value === undefined ? badge(said, names) : value, ` ${said.human.confirms ? "confirmed " : ""}by ${said.human.by}, ${said.human.at}`);
    return said.human.note ? [line, make("p", "note", said.human.note)] : [line];
  };

  const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
  const label = (name) => capital(name).replaceAll("_", " ");

  const values = (pairs) => {
    const list = make("tbody", "");
    for (const [name, value] of pairs) {
      const head = make("th", "", name);
      head.scope = "row";
      list.append(make("tr", "", head, make("td", "", value ?? "not present in the record")));
    }
    return make("table", "plain values", list);
  };

  const verdicts = (given) => {
    const list = make("tbody", "");
    for (const [name, verdict, quote, state, field, differences] of given) {
      const criterion = facts.criteria[name] || { text: "", excludes: false };
      const head = make("th", "", make("b", "", name), ` ${criterion.text}`);
      head.scope = "row";
      if (quote !== undefined) {
        head.append(...quotes.shown(quote, state, field, differences));
      }
      const against = (verdict === "met") === criterion.excludes && verdict !== "unclear";
      list.append(make("tr", "", head, make("td", against ? "against" : "", verdict)));
    }
    return make("table", "plain verdicts", make("thead", "hidden", make("tr", "", make("th", "", "Criterion and quote"), make("th", "", "Verdict"))), list);
  };

  const later = (said) => {
    const names = facts.stages[said.stage].names;
    const box = make("div", "", make("p", "", badge(said.human ? { outcome: said.system } : said, names)));
    const confidence = said.sure === undefined ? "" : ` confidence ${said.sure.toFixed(2)}`;
    box.firstChild.append(confidence, said.weak ? "; evidence too weak to keep" : "");
    if (said.value) box.append(make("p", "", said.value));
    if (said.values) box.append(values(said.values));
    if (said.verdicts) box.append(verdicts(said.verdicts));
    if (said.reason || said.error) box.append(make("p", "", [said.reason, said.error].filter(Boolean).join(": ")));
    if (said.because) box.append(make("p", "", capital(said.because)));
    if (said.why) box.append(make("p", "", said.why));
    if (said.cut) box.append(make("p", "flag", `Not sent in full: ${said.cut}.`));
    if (said.human) box.append(make("h3", "", "Decided by a human"), ...humanSays(said, names));
    return box;
  };

  // The text in pieces. Places count code points, as Python does; a string of JavaScript counts UTF-16 units.
  const marked = (field) => {
    if (!field.marks) return [field.text];
    const points = Array.from(field.text);
    const cuts = new Set([0, points.length]);
    for (const [start, end] of field.marks) cuts.add(Math.min(start, points.length)).add(Math.min(end, points.length));
    const edges = [...cuts].sort((a, b) => a - b);
    const pieces = [];
    for (let n = 0; n + 1 < edges.length; n += 1) {
      const text = points.slice(edges[n], edges[n + 1]).join("");
      const over = field.marks.filter(([start, end]) => start <= edges[n] && end >= edges[n + 1]);
      if (!over.length) {
        pieces.push(text);
        continue;
      }
      const ending = over.filter(([, end]) => Math.min(end, points.length) === edges[n + 1]).map(([, , name]) => name);
      const mark = make("mark", over.some(([, , , altered]) => altered) ? "altered" : "", text);
      mark.title = over.map(([, , name]) => facts.criteria[name]?.text || name).join("; ");
      if (ending.length) mark.append(make("sup", "", ending.join(", ")));
      pieces.push(mark);
    }
    return pieces;
  };

  // Choices, each with how many records it stands for. What is chosen stays chosen, also where nothing is left of it.
  const choices = (select, counted, named) => {
    const chosen = select.value;
    if (chosen && !counted.some(([value]) => value === chosen)) counted.push([chosen, 0]);
    select.replaceChildren(new Option("all", ""), ...counted.map(([value, n]) => new Option(`${named(value)} (${number(n)})`, value)));
    select.value = chosen;
  };
  const tally = (key) => {
    const counted = new Map();
    for (const row of rows) {
      const value = key(row);
      if (value) counted.set(value, (counted.get(value) || 0) + 1);
    }
    return [...counted];
  };
  const short = (text) => (text.length > 70 ? `${text.slice(0, 69)}…` : text);
  const offer = () => {
    choices(at("by-outcome"), tally((row) => row.outcome).sort((a, b) => order.indexOf(a[0]) - order.indexOf(b[0])), (value) => facts.names[value] || value);
    choices(at("by-reason"), tally((row) => row.reason).sort((a, b) => b[1] - a[1]), short);
    at("flag-field").hidden = !rows.some((row) => row.flagged || row.weak || row.cut);
    at("human-field").hidden = !rows.some((row) => row.human);
    at("by-reason").parentElement.hidden = at("by-reason").options.length < 2;
  };
  offer();

  const terms = (text) => [...text.matchAll(/"([^"]+)"|(\S+)/g)].map((found) => fold(found[1] ?? found[2]));
  let typing;
  at("search").addEventListener("input", (event) => {
    clearTimeout(typing);
    typing = setTimeout(() => {
      view.terms = terms(event.target.value);
      update();
    }, 120);
  });
  at("by-outcome").addEventListener("change", (event) => { view.outcome = event.target.value; update(); });
  at("by-reason").addEventListener("change", (event) => { view.reason = event.target.value; update(); });
  at("by-flag").addEventListener("change", (event) => { view.flagged = event.target.checked; update(); });
  at("by-human").addEventListener("change", (event) => { view.human = event.target.checked; update(); });
  const clear = () => Object.assign(view, { terms: [], outcome: "", reason: "", flagged: false, human: false });
  at("tools").addEventListener("reset", () => { clearTimeout(typing); clear(); update(); });
  at("tools").addEventListener("submit", (event) => event.preventDefault());
  for (const head of heads) {
    head.firstElementChild.addEventListener("click", () => {
      const sort = head.firstElementChild.dataset.sort;
      view.down = view.sort === sort && !view.down;
      view.sort = sort;
      update();
    });
  }
  at("size").addEventListener("change", (event) => { view.size = Number(event.target.value); view.page = 0; render(); });
  for (const button of document.querySelectorAll("[data-page]")) {
    button.addEventListener("click", () => {
      view.page = { first: 0, previous: view.page - 1, next: view.page + 1, last: pages() - 1 }[button.dataset.page];
      render();
      at("table").focus({ preventScroll: true });
      at("status-line").scrollIntoView({ block: "start" });
    });
  }
  at("expand").addEventListener("click", () => {
    allOpen = !allOpen;
    expanded.clear();
    at("expand").setAttribute("aria-pressed", String(allOpen));
    at("expand").textContent = allOpen ? "Hide all details on this page" : "Show all details on this page";
    render();
  });

  // #record-12: that record, on whatever page it is, with its details.
  const follow = () => {
    const found = /^#record-(\d+)$/.exec(location.hash);
    const index = found && Number(found[1]) - 1;
    const row = found && rows[index];
    if (!row) return;
    if (!shown.includes(row)) {
      at("tools").reset();
    }
    if (!isOpen(row)) allOpen ? expanded.delete(row.i) : expanded.add(row.i);
    view.page = view.size ? Math.floor(shown.indexOf(row) / view.size) : 0;
    render();
    const tr = at(`record-${row.i + 1}`);
    tr.scrollIntoView({ block: "center" });
    tr.querySelector(".toggle").focus({ preventScroll: true });
  };
  window.addEventListener("hashchange", follow);
  narrow.addEventListener("change", render);

  for (const id of ["tools", "status-line", "table", "pager"]) at(id).hidden = false;
  update();
  follow();

  // Where the focus was in a row, by the row and by what has it; back to it once the row is made anew.
  const focused = () => {
    const tr = document.activeElement?.closest("#rows tr");
    return tr && { index: tr.dataset.index, part: document.activeElement.dataset.part };
  };
  const refocus = (was) => {
    if (!was) return;
    const of = (name) => document.querySelector(`#rows tr[data-index="${was.index}"] ${name}`);
    ((was.part && of(`[data-part="${was.part}"]`)) || of(".toggle") || at("table")).focus({ preventScroll: true });
  };

  return {
    // Other rows in the place of all; nothing is done while somebody writes in the table. Says whether it was done.
    replace: (fresh) => {
      if (document.activeElement?.matches("#rows input, #rows textarea")) return false;
      const was = focused();
      rows = fresh;
      haystacks = null;
      offer();
      update(false);
      refocus(was);
      return true;
    },
    // One row anew, where it stands: it stays in sight although it may no longer be what was searched for.
    change: (row) => {
      const was = focused();
      rows[row.i] = row;
      if (haystacks) haystacks[row.i] = undefined;
      offer();
      shown = shown.map((one) => (one.i === row.i ? row : one));
      at(`detail-${row.i + 1}`)?.remove();
      at(`record-${row.i + 1}`)?.replaceWith(...(isOpen(row) ? [line(row), detail(row)] : [line(row)]));
      refocus(was);
    },
    row: (index) => rows[index],
    // These records first, in this order, until somebody sorts the table.
    arrange: (indices) => {
      placed = new Map(indices.map((index, place) => [index, place]));
      Object.assign(view, { sort: "given", down: false });
      update();
    },
    arranged: () => view.sort === "given",
  };
};

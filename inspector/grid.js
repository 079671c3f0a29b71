// A table whose rows have ids: what is clicked, ticked or graded is told by its id, never by its place.
// Everything is put in by textContent: no text of a record is ever read as HTML.

const make = (name, attributes = {}, ...children) => {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null) node.setAttribute(key, value);
  node.append(...children);
  return node;
};

const marked = (pieces) => pieces.map(([text, isMarked]) => (isMarked ? make("mark", {}, text) : text));

// Of a place the file, its lines and its last heading or symbol; the folder and what is between are told on hover.
// Where room lacks, what comes after the lines gives way first, then they: by the file's name people know a place.
const PLACE = /^(.*?)(:\d[\d-]*)?((?: [›·] .*?)?)( \((?:lines? )?[\d-]+\))?$/s;
const placed = (value) => {
  const [, file, lines, rest, which] = PLACE.exec(value.slice(value.split(/[\s:]/, 1)[0].lastIndexOf("/") + 1));
  const steps = rest.split(" › ");
  const end = steps.length > 2 ? ` › ${steps.at(-1)}` : rest;
  return [file, lines, end, which].map((part) => make("span", {}, part ?? ""));
};

const bar = (parts) => make("span", { class: "ce-bar" }, ...parts.map(([colour, share, title]) => {
  const piece = make("span", { title: title ?? null });
  piece.style.width = `${100 * share}%`;
  if (colour) piece.style.background = colour;
  return piece;
}));

const CELLS = {
  text: (value) => (Array.isArray(value) ? [make("span", { class: "ce-one-line" }, ...marked(value))] : [value ?? ""]),
  number: (value) => [value ?? ""],
  place: (value) => [make("bdi", { class: "ce-place" }, ...placed(String(value ?? "")))],
  fate: (value, data) => {
    const dot = make("span", { class: "ce-dot", "aria-hidden": "true" });
    dot.style.background = data.palette?.[value] ?? "gray";
    return value ? [dot, value] : [""];
  },
  bar: (value) => (value ? [bar(value)] : [""]),
};

const tick = (row, column, state) => {
  const box = make("input", { type: "checkbox", "aria-label": `${column.label}: ${row.label ?? row.id}` });
  box.addEventListener("click", (event) => event.stopPropagation());
  box.addEventListener("change", () => {
    state.tell("ticked", row.id, box.checked);
  });
  return box;
};

const cell = (row, column, data, state) => {
  const value = row.cells[column.name];
  const kind = column.kind ?? "text";
  const node = make("td", { class: kind === "number" ? "ce-number" : null });
  if (kind === "tick") node.append(tick(row, column, state));
  else node.append(...CELLS[kind](value, data));
  const told = Array.isArray(value) && kind === "text" ? value.map(([text]) => text).join("") : value;
  if (kind === "fate") node.title = data.meanings[value] ?? "";
  if ((kind === "text" || kind === "place") && told) node.title = told;
  return node;
};

const head = (data, state) => make("thead", {}, make("tr", {}, ...data.columns.map((column) => {
  const node = make("th", { scope: "col", title: column.help ?? null });
  if (column.kind === "number") node.classList.add("ce-number");
  if (!column.sorts) { node.append(column.label); return node; }
  const isSorted = data.sort?.column === column.name;
  const sign = isSorted ? (data.sort.ascending ? " ▲" : " ▼") : "";
  if (isSorted) node.setAttribute("aria-sort", data.sort.ascending ? "ascending" : "descending");
  const button = make("button", { type: "button" }, column.label + sign);
  button.addEventListener("click", () => state.send("sorted", {
    id: column.name, value: isSorted ? !data.sort.ascending : false, at: state.now() }));
  node.append(button);
  return node;
})));

const body = (data, state) => make("tbody", {}, ...data.rows.map((row) => {
  if (row.line) return make("tr", { class: "ce-line" }, make("td", { colspan: data.columns.length }, row.line));
  const node = make("tr", { "data-id": row.id, "aria-selected": String(row.id === state.chosen) },
    ...data.columns.map((column) => cell(row, column, data, state)));
  node.addEventListener("click", () => state.choose(row.id));
  return node;
}));

const isWriting = (target) =>
  target.closest?.("input:not([type=checkbox]):not([type=range]), textarea, select, [contenteditable=true]") != null;

const PHONE = 640;
const LEAST_WIDTH = 104;
// Milliseconds: what is not answered is told again; who presses no key for so long has walked far enough.
const AGAIN = 4000;
const REST = 700;
const MOUNTED_AGAIN = 1000;
const POLL = 2000;
const QUIET = 5000;

// On a phone the columns that say most, where a table names such.
const columnsOf = (data) => {
  const narrow = window.innerWidth < PHONE ? data.columns.filter((column) => column.narrow) : [];
  return narrow.length ? narrow : data.columns;
};

// On a phone a place has what the others leave.
const widthOf = (column) => (window.innerWidth < PHONE && column.narrow && column.kind === "place" ? null : column.width);

const states = new WeakMap();

// What was pressed and not acted on yet, by table and trace: Streamlit may mount a table anew in the middle of a
// walk, and what stood in the old one alone was lost: the next key went on from an older run's choice.
const memories = (window.contextInspectorPressed ??= {});

const begin = (root, of) => {
  const state = (memories[of] ??= { chosen: null, choseAt: 0, logs: {}, last: 0 });
  // A key that comes while the table is mounted anew is heard by the old one.
  document.removeEventListener("keydown", state.key);
  Object.assign(state, { of, drawn: "", left: Infinity, quietUntil: 0, send: () => {}, keep: () => {} });
  const box = make("div", { class: "ce-grid", tabindex: "0", role: "region" });
  root.append(box);
  state.box = box;
  state.show = () => {
    for (const row of box.querySelectorAll("tr[data-id]")) {
      row.setAttribute("aria-selected", String(row.dataset.id === state.chosen));
      // In its place: a box that is drawn anew in the middle of a press is not ticked by it.
      const tick = row.querySelector("input[type=checkbox]");
      if (tick) tick.checked = state.isTicked(row.dataset.id);
    }
  };
  state.reveal = () => {
    const row = [...box.querySelectorAll("tr[data-id]")].find((one) => one.dataset.id === state.chosen);
    if (!row) return;
    const top = row.offsetTop - 28;
    const bottom = row.offsetTop + row.offsetHeight;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (bottom > box.scrollTop + box.clientHeight) box.scrollTop = bottom - box.clientHeight;
  };
  // No two events have one time, so that what the server has acted on is told by a single number.
  state.now = () => (state.last = Math.max(Date.now(), state.last + 1));
  state.seen = (name) => state.data.seen?.[name] ?? 0;
  state.choose = (id) => {
    state.hush();
    state.chosen = id;
    state.show();
    state.reveal();
    state.tellChosen("");
    clearTimeout(state.rest);
    if (state.data.rests) state.rest = setTimeout(() => state.tellChosen("rested"), REST);
  };
  state.tellChosen = (value) => {
    state.choseAt = state.now();
    state.tellAgain(value);
  };
  // Told until it is acted on, each once: what is told while a table is mounted anew may not arrive.
  state.tellAgain = (value) => {
    state.send("chosen", { id: state.chosen, value, at: state.choseAt });
    clearTimeout(state.again);
    if (!state.data.opens) state.again = setTimeout(() => state.choseAt > state.seen("chosen") && state.tellAgain(value), AGAIN);
  };
  // A log, since of two events within one run of the server the first would be lost; each is acted on once.
  state.tell = (name, id, value) => {
    state.logs[name] = [...(state.logs[name] ?? []), { id, value, at: state.now() }].slice(-40);
    state.keep(name, state.logs[name]);
  };
  // What was told and is not acted on yet: id → value. It stays drawn, whatever an earlier run says.
  state.pending = (name) => new Map(
    (state.logs[name] ?? []).filter(({ at }) => at > state.seen(name)).map(({ id, value }) => [id, value]));
  state.isTicked = (id) => state.pending("ticked").get(id) ?? state.data.ticks.includes(id);
  state.walk = (by) => {
    const ids = state.data.rows.filter((row) => !row.line).map((row) => row.id);
    if (!ids.length) return;
    const at = ids.indexOf(state.chosen);
    const next = at < 0 ? 0 : Math.max(0, Math.min(ids.length - 1, at + by));
    if (ids[next] !== state.chosen) state.choose(ids[next]);
  };
  state.key = (event) => {
    if (performance.now() - state.left > MOUNTED_AGAIN || event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target)) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const grade = state.data.grades?.includes(key) ? key : null;
    if (grade !== null && state.chosen !== null) {
      // The candidate that is on the screen now, whatever is on its way.
      state.tell("graded", state.chosen, grade);
      state.walk(1);
    } else if (state.data.walks && (key === "j" || key === "k")) state.mark(key === "j" ? 1 : -1);
    else if (event.target === box && (key === "ArrowDown" || key === "ArrowUp")) state.mark(key === "ArrowDown" ? 1 : -1);
    else if (key === "Enter" && (event.target === box || (state.data.opens && event.target === document.body)) && state.chosen !== null) state.choose(state.chosen);
    else return;
    event.preventDefault();
  };
  // J, K and arrows move the mark; where rows open a page, Enter opens, else the mark is the choice.
  state.mark = (by) => {
    if (!state.data.opens) { state.walk(by); return; }
    const ids = state.data.rows.filter((row) => !row.line).map((row) => row.id);
    const at = ids.indexOf(state.chosen);
    state.chosen = ids[at < 0 ? 0 : Math.max(0, Math.min(ids.length - 1, at + by))] ?? null;
    state.show();
    state.reveal();
  };
  // What looks for news keeps still for a while after a press: its run could come between and end a change of page.
  state.hush = () => { state.quietUntil = performance.now() + QUIET; };
  document.addEventListener("pointerdown", state.hush, true);
  state.poll = setInterval(() => {
    if (state.data?.polls && !document.hidden && performance.now() > state.quietUntil) state.send("looked", { id: "", at: state.now() });
  }, POLL);
  state.fit = () => {
    if (!state.data) return;
    const { height, below, opens } = state.data;
    const top = box.getBoundingClientRect().top + window.scrollY;
    // On a phone what is chosen stands below the table, on the same screen.
    const isAbove = window.innerWidth < PHONE && !opens;
    const most = isAbove ? 0.3 * window.innerHeight : window.innerHeight - top - 20 - below;
    box.style.maxHeight = `${height || Math.max(240, most)}px`;
  };
  window.addEventListener("resize", state.fit);
  // What stands above may be drawn, or wrap, after this: then less is left of the window.
  state.moved = new ResizeObserver(() => state.fit());
  state.moved.observe(document.querySelector("[data-testid=stMainBlockContainer]") ?? document.body);
  document.addEventListener("keydown", state.key);
  state.leave = () => {
    clearTimeout(state.again);
    clearTimeout(state.rest);
    clearInterval(state.poll);
    document.removeEventListener("pointerdown", state.hush, true);
    state.left = performance.now();
    window.removeEventListener("resize", state.fit);
    state.moved.disconnect();
    box.remove();
  };
  return state;
};

export default function ({ parentElement, data, setStateValue, setTriggerValue }) {
  let state = states.get(parentElement);
  const isNew = !state || state.of !== data.of;
  if (state && isNew) state.leave();
  if (isNew) { state = begin(parentElement, data.of); states.set(parentElement, state); }
  state.send = setTriggerValue;
  state.keep = setStateValue;
  state.data = data;
  if (isNew && !data.opens && state.choseAt > state.seen("chosen")) state.tellAgain(data.rests ? "rested" : "");
  // What was told in the middle of that may not have arrived.
  if (isNew) for (const name of Object.keys(state.logs)) if (state.pending(name).size) state.keep(name, state.logs[name]);
  const { chosen, seen, ticks, ...rest } = data;
  const columns = columnsOf(data);
  const drawn = JSON.stringify([rest, columns.length]);
  // A run from before the last choice does not take it back.
  if (chosen !== undefined && chosen !== null && state.choseAt <= state.seen("chosen")) state.chosen = chosen;
  state.fit();
  state.box.setAttribute("aria-label", data.label);
  if (drawn !== state.drawn) {
    state.drawn = drawn;
    const table = make("table");
    const widths = make("colgroup");
    // What is left for a column without a width must be enough to read in: otherwise the table scrolls.
    table.style.minWidth = `${columns.reduce((sum, column) => sum + (widthOf(column) ?? LEAST_WIDTH), 0)}px`;
    for (const column of columns) {
      const one = make("col");
      // A place tells things apart by its end and its beginning: it has a quarter of what a large screen has more.
      const more = column.kind === "place" ? " + max(0px, (100vw - 1280px) / 4)" : "";
      if (widthOf(column)) one.style.width = `calc(${column.width}px${more})`;
      widths.append(one);
    }
    const shown = { ...data, columns };
    table.append(widths, head(shown, state), body(shown, state));
    const scrolled = state.box.scrollTop;
    state.box.replaceChildren(table);
    state.box.scrollTop = scrolled;
  }
  state.show();
  state.reveal();
  return () => {
    state.leave();
    states.delete(parentElement);
  };
}

"use strict";
// Data from files enters the page as text nodes and attributes only; nothing here reads markup out of a name.
(() => {
  const page = JSON.parse(document.getElementById("page-data").textContent);
  const find = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  function element(name, attributes = {}, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value === null || value === undefined || value === false) continue;
      if (key === "text") node.textContent = value;
      else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else node.setAttribute(key, value === true ? "" : value);
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }

  // Terms ------------------------------------------------------------------------------------------------

  const tip = find("#tip");
  let asked = null;

  function explain(term) {
    hideTip();
    asked = term;
    tip.textContent = page.glossary[term.dataset.term] ?? "";
    tip.hidden = false;
    term.setAttribute("aria-describedby", "tip");
    const box = term.getBoundingClientRect();
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    tip.style.left = `${Math.max(8, Math.min(box.left, room)) + window.scrollX}px`;
    const above = box.bottom + tip.offsetHeight + 10 > window.innerHeight && box.top > tip.offsetHeight + 10;
    tip.style.top = `${(above ? box.top - tip.offsetHeight - 7 : box.bottom + 7) + window.scrollY}px`;
  }

  function hideTip() {
    if (asked) asked.removeAttribute("aria-describedby");
    asked = null;
    tip.hidden = true;
  }

  const termOf = (event) => (event.target instanceof Element ? event.target.closest(".term") : null);
  document.addEventListener("pointerover", (event) => {
    const term = termOf(event);
    if (term) explain(term);
    else if (asked && asked !== document.activeElement && event.target !== tip) hideTip();
  });
  document.addEventListener("focusin", (event) => (termOf(event) ? explain(termOf(event)) : hideTip()));
  document.addEventListener("click", (event) => {
    const term = termOf(event);
    if (term) {
      event.preventDefault();
      explain(term);
    } else hideTip();
  });
  document.addEventListener("keydown", (event) => event.key === "Escape" && hideTip());

  // Contents ---------------------------------------------------------------------------------------------

  const links = new Map(all(".contents a").map((link) => [link.getAttribute("href").slice(1), link]));
  const reading = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => {
      links.forEach((link) => link.removeAttribute("aria-current"));
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }),
    { rootMargin: "-20% 0px -70% 0px" },
  );
  all("main > section").forEach((section) => reading.observe(section));

  // What is folded opens where an address leads into it, and on paper.
  function unfold() {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (!target) return;
    const folds = target.matches("section") ? all(":scope > .fold", target) : [];
    for (let node = target.parentElement; node; node = node.parentElement) if (node.matches("details")) folds.push(node);
    folds.forEach((one) => (one.open = true));
    if (folds.length) target.scrollIntoView();
  }
  window.addEventListener("beforeprint", () => all("main details").forEach((one) => (one.open = true)));

  const copy = find("#copy");
  if (copy && navigator.clipboard) {
    copy.hidden = false;
    copy.addEventListener("click", async () => {
      await navigator.clipboard.writeText(find("#paragraph").textContent);
      copy.textContent = "Copied";
      setTimeout(() => (copy.textContent = "Copy the paragraph"), 2000);
    });
  }

  // Cases ------------------------------------------------------------------------------------------------

  const cases = page.explorer;
  const ROWS = 12;
  const REST = -1;
  const SYMBOLS = ["●", "◆", "▲", "■", "★", "✚", "○", "◇", "△", "□"];
  const CERTAIN = 990;
  const OWN = "own";
  const isRated = cases.kind === "ratings";
  const OTHERS = isRated ? "another interval" : "any other condition";
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const state = { view: null, model: "", measure: OWN, sorts: [["certainty", false]], page: 0, order: [], at: null };
  const blocks = new Map();
  let table_of = null; // columns of all cases
  let position = new Map();
  let haystacks = [];
  const share = (value, digits = 2) => (value === null || value === undefined ? "–" : (value / 1000).toFixed(digits).replace("-", "−"));
  const percent = (value) => (value > 0 && value < 5 ? "under 1\u00a0%" : value >= 995 && value < 1000 ? "over 99\u00a0%" : `${Math.round(value / 10)}\u00a0%`);
  const conditionName = (code) => (code === REST ? OTHERS : cases.conditions[code]);
  const plural = (count, one, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

  async function unpacked(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  // What is known of one case: its block is unpacked when it is first needed.
  async function detailOf(i) {
    const number = Math.floor(i / cases.block);
    if (!blocks.has(number)) blocks.set(number, await unpacked(cases.blocks[number]));
    const block = blocks.get(number);
    const at = i - number * cases.block;
    return Object.fromEntries(Object.entries(block).map(([name, column]) => [name, column[at]]));
  }

  // A flat list with ties: a negative number is tied with the condition before it.
  function blocksOf(flat) {
    const found = [];
    for (const code of flat) {
      if (code < 0) found[found.length - 1].push(-code - 1);
      else found.push([code]);
    }
    return found;
  }

  const digit = (text, i) => Number(text[i]);
  const isSettled = (i) => (digit(table_of.rules, i) & 1) > 0;
  const measured = (m, i) => (state.measure === OWN ? table_of.own[m][i] : table_of.scores[m][state.measure][i]);

  const columns = () => [
    { key: "name", title: "case", isText: true, of: (i) => table_of.cases[i] },
    { key: "certainty", title: "certainty", term: "certainty", of: (i) => table_of.certainty[i], meter: true },
    { key: "winner", title: isRated ? "most plausible interval" : "most plausible", isText: true, of: (i) => conditionName(table_of.winner[i]) },
    table_of.risk.length ? { key: "risk", title: "risk", term: "expected risk", of: (i) => table_of.risk[0][i] } : null,
    table_of.disagreement.length ? { key: "disagreement", title: "disagreement", term: "disagreement", of: (i) => table_of.disagreement[i] } : null,
    ...cases.models.map((model, m) => ({ key: `model ${m}`, title: model, model: m, of: (i) => measured(m, i) })),
  ].filter(Boolean);

  // Filters ----------------------------------------------------------------------------------------------

  const explorer = find("#explorer");
  const table = find("#case-table");
  const detail = find("#case");
  const filters = find(".filters");

  function chooser(label, options, attributes = {}) {
    const choices = options.map(([value, text]) => element("option", { value, text }));
    const select = element("select", attributes, ...choices);
    return element("label", {}, label, select);
  }

  // The views, by their places among the rules: each tells whether it names a case, for one model or for any.
  function isNamed(rule, i) {
    const models = state.model === "" ? table_of.wrong : [table_of.wrong[Number(state.model)]];
    return [
      () => isSettled(i) && models.some((own) => digit(own, i) & 1),
      () => models.some((own) => digit(own, i) & 2),
      () => (digit(table_of.rules, i) & 2) > 0,
      () => !isSettled(i),
    ][rule]();
  }

  function buildFilters() {
    const place = find("#filter-places");
    const anything = ["", "all"];
    const some = (rule) => table_of.cases.some((_, i) => isNamed(rule, i));
    const rules = cases.rules.map((name, rule) => [name, rule]).filter(([, rule]) => some(rule));
    [["all cases", null], ...rules].forEach(([text, rule]) => find("#views").append(
      element("button", { type: "button", class: "quiet", "data-view": rule ?? "", text, onclick: () => { state.view = rule; refresh(); } }),
    ));
    if (cases.categories) {
      place.append(chooser("Category", [anything, ...cases.categories.names.map((name, c) => [c, name])], { id: "category" }));
    }
    cases.strata.forEach((stratum, s) => {
      place.append(chooser(stratum.name, [anything, ...stratum.labels.map((label, c) => [c, label])], { "data-stratum": s }));
    });
    if (cases.models.length > 1) {
      place.append(chooser("Model", [["", "any"], ...cases.models.map((name, m) => [m, name])], { id: "case-model" }));
    }
    const measures = cases.metrics.map((one, k) => [k, one.name]).filter(([k]) => table_of.scores[0]?.[k].some((value) => value !== null));
    if (measures.length) {
      place.append(chooser("Columns of models", [[OWN, isRated ? "number" : "own score"], ...measures], { id: "case-measure" }));
    }
  }

  const wanted = (selector) => find(selector)?.value ?? "";
  function filter() {
    const text = wanted("#search").trim().toLowerCase();
    const category = wanted("#category");
    const [low, high] = ["#from", "#to"].map((one) => Number.parseFloat(wanted(one)));
    const strata = all("[data-stratum]", filters).filter((select) => select.value !== "").map((select) => [table_of.strata[select.dataset.stratum], Number(select.value)]);
    return (i) => (!text || haystacks[i].includes(text))
      && (category === "" || table_of.category[i] === Number(category))
      && !(table_of.certainty[i] < 1000 * low - 1e-6) && !(table_of.certainty[i] > 1000 * high + 1e-6)
      && strata.every(([codes, code]) => codes[i] === code)
      && (state.view === null || isNamed(state.view, i));
  }

  // The heading that was used last sorts first; the one before it breaks ties.
  function comparison() {
    const known = columns();
    const keys = state.sorts.map(([key, down]) => [known.find((one) => one.key === key), down ? -1 : 1]).filter(([one]) => one);
    return (a, b) => {
      for (const [column, sign] of keys) {
        const [x, y] = [column.of(a), column.of(b)];
        const found = x === null || y === null ? (x === null) - (y === null) : sign * (column.isText ? collator.compare(x, y) : x - y);
        if (found) return found;
      }
      return a - b;
    };
  }

  function refresh() {
    state.measure = wanted("#case-measure") || OWN;
    state.model = wanted("#case-model");
    state.order = table_of.cases.map((_, i) => i).filter(filter()).sort(comparison());
    state.page = 0;
    all("[data-view]").forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.view === String(state.view ?? ""))));
    drawTable();
  }

  // Table ------------------------------------------------------------------------------------------------

  function headCell(column) {
    const rank = state.sorts.findIndex(([key]) => key === column.key);
    const way = rank < 0 ? null : state.sorts[rank][1] ? "descending" : "ascending";
    const button = element("button", { type: "button", text: column.title, "data-rank": rank < 0 ? null : rank + 1, "data-way": way, onclick: () => sortBy(column) });
    if (column.term) button.title = page.glossary[column.term];
    return element("th", { scope: "col", "aria-sort": rank === 0 ? way : null, class: column.isText ? "text" : null, "data-key": column.key }, button);
  }

  function sortBy(column) {
    const known = state.sorts.find(([key]) => key === column.key);
    const down = state.sorts[0][0] === column.key ? !known[1] : !column.isText && column.key !== "certainty" && column.model === undefined;
    state.sorts = [[column.key, down], ...state.sorts.filter(([key]) => key !== column.key)].slice(0, 2);
    refresh();
    find(`th[data-key="${CSS.escape(column.key)}"] button`, table).focus();
  }

  function bodyCell(column, i) {
    const value = column.of(i);
    if (column.key === "name") {
      const link = element("a", { href: hashOf(value), tabindex: "-1", class: "clip", title: value, text: value });
      return element("th", { scope: "row", class: "text" }, link);
    }
    if (column.isText) {
      const mark = column.key === "winner" ? markOf(table_of.winner[i]) : null;
      return element("td", { class: "text" }, element("span", { class: "clip", title: value }, value, mark ?? ""));
    }
    const cell = element("td", {}, isRated && state.measure === OWN && column.model !== undefined ? share(value, 1) : share(value));
    if (column.model !== undefined && digit(table_of.wrong[column.model], i) & 1) {
      cell.prepend(element("span", { class: "wrong", title: "its first choice is not the most plausible", "aria-label": "wrong", role: "img", text: "✗" }), " ");
    }
    if (column.meter && value !== null) {
      const fill = element("i");
      fill.style.width = `${value / 10}%`;
      cell.prepend(element("span", { class: "meter", "aria-hidden": "true" }, fill));
    }
    return cell;
  }

  function drawTable() {
    const shown = columns();
    const pages = Math.max(1, Math.ceil(state.order.length / ROWS));
    state.page = Math.min(Math.max(state.page, 0), pages - 1);
    const visible = state.order.slice(state.page * ROWS, (state.page + 1) * ROWS);
    const reachable = visible.includes(state.at) ? state.at : visible[0];
    find("thead", table).replaceChildren(element("tr", {}, ...shown.map(headCell)));
    find("tbody", table).replaceChildren(...visible.map((i) => element(
      "tr",
      { "data-case": i, tabindex: i === reachable ? "0" : "-1", "aria-current": i === state.at ? "true" : null },
      ...shown.map((column) => bodyCell(column, i)),
    )));
    const total = table_of.cases.length;
    find("#count").textContent = state.order.length === total
      ? plural(total, "case") : `${state.order.length.toLocaleString("en")} of ${plural(total, "case")}`;
    find("#page-of").textContent = `Page ${state.page + 1} of ${pages}`;
    find("#previous").disabled = state.page === 0;
    find("#next").disabled = state.page >= pages - 1;
    find("#download").disabled = state.order.length === 0;
  }

  const rowOf = (i) => find(`tr[data-case="${i}"]`, table);

  function moveTo(place) {
    const bounded = Math.min(Math.max(place, 0), state.order.length - 1);
    const i = state.order[bounded];
    if (i === undefined) return;
    state.page = Math.floor(bounded / ROWS);
    visit(i, { replace: true });
    rowOf(i)?.focus({ preventScroll: false });
  }

  async function onKey(event) {
    const row = event.target.closest("tr[data-case]");
    if (!row) return;
    const i = Number(row.dataset.case);
    const here = state.order.indexOf(i);
    const steps = { ArrowDown: here + 1, ArrowUp: here - 1, PageDown: here + ROWS, PageUp: here - ROWS, Home: 0, End: state.order.length - 1 };
    if (event.key in steps) {
      event.preventDefault();
      // The first arrow opens the case that has the focus, unless it is open already.
      moveTo(state.at === null && event.key.startsWith("Arrow") ? here : steps[event.key]);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      await visit(i, {});
      find("h3", detail)?.focus();
    }
  }

  // One case ---------------------------------------------------------------------------------------------

  const hashOf = (name) => `#case=${encodeURIComponent(name)}`;

  function nameFromHash() {
    if (!location.hash.startsWith("#case=")) return null;
    try {
      return decodeURIComponent(location.hash.slice(6));
    } catch (error) {
      if (error instanceof URIError) return location.hash.slice(6);
      throw error;
    }
  }

  function visit(i, { replace = false }) {
    const hash = hashOf(table_of.cases[i]);
    if (location.hash !== hash) {
      if (replace) location.replace(hash);
      else location.hash = hash;
    }
    return show(i);
  }

  async function follow({ jump = false } = {}) {
    const name = nameFromHash();
    if (name === null) {
      if (location.hash === "" || location.hash === "#cases") close();
      unfold();
      return;
    }
    const i = position.get(name);
    if (i === undefined) {
      state.at = null;
      detail.replaceChildren(element("p", { text: `There is no case called “${name}” in this list.` }));
      detail.hidden = false;
    } else if (i !== state.at) {
      const place = state.order.indexOf(i);
      if (place >= 0) state.page = Math.floor(place / ROWS);
      await show(i);
      jump = true; // the address was changed by hand, by a link or by the back button
    }
    if (jump) detail.scrollIntoView({ block: "start" });
  }

  function close() {
    state.at = null;
    detail.hidden = true;
    detail.replaceChildren();
    drawTable();
  }

  function hueOf(i) {
    const ordered = table_of.support[i].filter((code) => code !== REST);
    return (code) => (ordered.indexOf(code) >= 0 && ordered.indexOf(code) < page.hues.length ? page.hues[ordered.indexOf(code)] : null);
  }

  function levelOf(category) {
    const levels = cases.categories.levels;
    if (!levels.length) return null;
    const sorted = [...new Set(levels)].sort((a, b) => a - b);
    return sorted.length < 2 ? 0 : Math.round((2 * sorted.indexOf(levels[category])) / (sorted.length - 1));
  }

  function markOf(code) {
    if (!cases.categories || code === REST) return null;
    return categoryMark(cases.categories.codes[code]);
  }

  function categoryMark(category) {
    const name = cases.categories.names[category];
    const mark = element("i", { class: "mark", "data-level": levelOf(category), title: name, "aria-hidden": "true", text: SYMBOLS[category % SYMBOLS.length] });
    return element("span", {}, " ", mark, element("span", { class: "sr", text: ` (${name})` }));
  }

  function conditionBox(code, hue, note = "") {
    const box = element("span", { class: "condition" }, conditionName(code), markOf(code) ?? "", note && element("small", { text: ` ${note}` }));
    if (hue(code)) box.style.setProperty("--hue", hue(code));
    return box;
  }

  function rankingBoxes(flat, hue, note = () => "") {
    const parts = [];
    blocksOf(flat).forEach((block, place) => {
      if (place) parts.push(element("span", { class: "then", "aria-label": "then", text: "›" }));
      const tied = block.length > 1;
      const boxes = block.map((code) => conditionBox(code, hue, note(code)));
      parts.push(element("span", { class: tied ? "block tied" : "block", title: tied ? "tied" : null }, ...boxes));
    });
    if (!parts.length) parts.push(element("span", { class: "then", text: "no condition named" }));
    return element("div", { class: "ranking" }, ...parts);
  }

  function who(annotators, number) {
    const names = annotators.map((code) => (code >= 0 ? cases.annotators[code] : null));
    if (names.every((name) => name === null)) return number;
    return names.map((name) => name ?? "anonymous").join(", ");
  }

  const votes = (people) => people.reduce((sum, code) => sum + (code < 0 ? -code : 1), 0);
  const singly = (people) => people.flatMap((code) => (code < 0 ? Array(-code).fill(-1) : code)).map((code) => [code]);

  const MANY = 12;
  function opinionRows(given) {
    const total = given.reduce((sum, [, people]) => sum + votes(people), 0);
    const grouped = total > MANY;
    let count = 0;
    return given.flatMap(([said, people, weight]) => {
      const each = grouped ? [people] : singly(people);
      return each.map((some) => {
        const size = votes(some);
        count += size;
        const label = who(some, size > 1 ? plural(size, "annotator") : grouped ? "1 annotator" : `Annotator ${count}`);
        const times = size > 1 && some.some((code) => code >= 0) ? ` (${size})` : "";
        return { said, label: label + times + (weight === undefined ? "" : `, weight ${weight}`) };
      });
    });
  }

  function opinionsPart(known, hue) {
    const rows = opinionRows(known.opinions);
    const part = element("section", { class: "part" }, element("h4", { text: "What the annotators said" }));
    if (isRated) part.append(ratingsPicture(rows));
    else rows.forEach((row) => part.append(element("div", { class: "opinion" }, element("span", { class: "who", text: row.label }), rankingBoxes(row.said, hue))));
    if (!rows.length) part.append(element("p", { text: "Nothing." }));
    if (cases.categories && !isRated) part.append(categoryLegend());
    return part;
  }

  function categoryLegend() {
    const items = cases.categories.names.flatMap((name, c) => [element("span", {}, categoryMark(c).querySelector(".mark"), ` ${name}`), "   "]);
    return element("p", { class: "marks" }, ...items);
  }

  const svg = (name, attributes) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
    return node;
  };

  function ratingsPicture(rows) {
    const [low, high] = cases.scale;
    const wide = high > low ? high - low : 1;
    const picture = element("div", { class: "bars" });
    rows.forEach((row) => {
      const track = svg("svg", { role: "img", "aria-label": `${row.said[0]}` });
      track.append(svg("line", { x1: "0", x2: "100%", y1: "13", y2: "13", stroke: "var(--line)" }));
      track.append(svg("circle", { cx: `${(100 * (row.said[0] - low)) / wide}%`, cy: "13", r: "6", fill: page.hues[0] }));
      picture.append(element("span", { class: "label", text: row.label }), track, element("span", { class: "value", text: row.said[0] }));
    });
    picture.append(element("span"), element("span", { class: "axis" }, element("span", { text: low }), element("span", { text: high })), element("span"));
    return picture;
  }

  function plausibilityRow(code, mean, top, letters, hue) {
    const colour = hue(code) ?? "var(--faint)";
    const said = `${conditionName(code)}: plausibility ${share(mean)} on average, most plausible in ${percent(top)} of the draws`;
    const track = svg("svg", { role: "img", "aria-label": said });
    track.append(svg("line", { x1: "0", x2: "100%", y1: "25", y2: "25", stroke: "var(--line)" }));
    track.append(svg("rect", { x: "0", y: "4", height: "18", width: `${mean / 10}%`, fill: colour, opacity: "0.38", rx: "2" }));
    [...letters].forEach((letter, place) => {
      const level = cases.alphabet.indexOf(letter) / (cases.alphabet.length - 1);
      const height = 7 + 12 * ((place * 0.618034) % 1);
      track.append(svg("circle", { cx: `${100 * level}%`, cy: height, r: "2.4", fill: colour, stroke: "var(--paper)", "stroke-width": "0.6" }));
    });
    return [
      element("span", { class: "label", title: said }, conditionName(code), markOf(code) ?? ""),
      track,
      element("span", { class: "value", text: share(mean), title: said }),
    ];
  }

  function plausibilitiesPart(i, known, hue) {
    const { mean, top, draws, hidden } = known;
    const rows = table_of.support[i].flatMap((code, c) => plausibilityRow(code, mean[c], top[c], draws[c], hue));
    const axis = element("span", { class: "axis", "aria-hidden": "true" }, ...["0", "0.5", "1"].map((text) => element("span", { text })));
    return element(
      "section", { class: "part" },
      element("h4", { text: `Plausibilities (${cases.run})` }),
      element("div", { class: "bars" }, ...rows, element("span"), axis, element("span")),
      hidden ? element("p", { class: "marks", text: `${plural(hidden, "less plausible condition")} not shown.` }) : null,
      element("p", { class: "marks", text: draws.some((one) => one.length > 1) ? "Bars: average over draws. Dots: single draws." : "Bars: plausibility." }),
    );
  }

  function modelsPart(i, known, hue) {
    if (!cases.models.length) return null;
    const plausible = new Map(table_of.support[i].map((code, c) => [code, known.mean[c]]));
    const kept = cases.metrics.map((one, k) => [one.name, k]).filter(([, k]) => table_of.scores.some((own) => own[k][i] !== null));
    const said = isRated ? "number" : "first choices: own score, plausibility";
    const head = element("tr", {}, ...["model", said, ...kept.map(([name]) => name)].map((text) => element("th", { scope: "col", text })));
    const rows = cases.models.map((model, m) => {
      const own = known.said[m];
      const scores = new Map((own[1] ?? []).map((value, place) => [own[0][place] < 0 ? -own[0][place] - 1 : own[0][place], value]));
      const note = (code) => `${scores.has(code) ? `${share(scores.get(code))}, ` : ""}${plausible.has(code) ? share(plausible.get(code)) : "–"}`;
      const list = typeof own === "string" ? element("td", { text: own }) : element("td", { class: "list" }, rankingBoxes(own[0], hue, note));
      return element(
        "tr", {},
        element("th", { scope: "row", text: model }), list,
        ...kept.map(([name, k]) => element("td", { "data-label": name, text: share(table_of.scores[m][k][i]) })),
      );
    });
    return element(
      "section", { class: "part" },
      element("h4", { text: "What the models said" }),
      element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Models on this case" }, element("table", { class: "scores stacking" }, element("thead", {}, head), element("tbody", {}, ...rows))),
    );
  }

  const bold = (text) => element("b", { text });

  function firstSentence(i, known) {
    const order = table_of.support[i].map((code, c) => [code, known.top[c]]).sort((a, b) => b[1] - a[1] || (b[0] === table_of.winner[i]) - (a[0] === table_of.winner[i]));
    const [winner, next] = order;
    if (!winner) return ["Nothing is known about this case."];
    const named = (code) => (code === REST ? (isRated ? OTHERS : "a condition that nobody mentioned") : conditionName(code));
    if (isSettled(i)) return ["The annotations settle this case: ", bold(named(winner[0])), ". "];
    const start = [bold(named(winner[0])), ` is the most plausible ${isRated ? "interval" : "condition"} in ${percent(winner[1])} of the draws`];
    if (next && next[1] > 0) start.push(", ", bold(named(next[0])), ` in ${percent(next[1])}`);
    const rest = order.slice(2).reduce((sum, [, top]) => sum + top, 0);
    if (rest >= 10) start.push(`, others in ${percent(rest)}`);
    return [...start, ". "];
  }

  function supportersSentence(i, known) {
    if (isRated) return [];
    const rows = known.opinions.map(([said, people]) => [blocksOf(said)[0] ?? [], votes(people)]);
    const total = rows.reduce((sum, [, count]) => sum + count, 0);
    if (total === 1) return ["Only one annotator gave an opinion. "];
    const winner = table_of.winner[i];
    if (winner === REST) return [];
    const behind = rows.reduce((sum, [first, count]) => sum + (first.includes(winner) ? count : 0), 0);
    return [`Annotators who put ${conditionName(winner)} first, alone or tied: ${behind} of ${total}. `];
  }

  function riskSentence(i) {
    const parts = [];
    if (table_of.category.length && table_of.category[i] !== null) {
      const name = cases.categories.names[table_of.category[i]];
      const certainty = table_of.categoryCertainty[i];
      parts.push(certainty >= CERTAIN ? `Its category, ${name}, is settled. ` : `Its category is unsettled: ${name} in ${percent(certainty)} of the draws. `);
    }
    if (table_of.risk.length && table_of.risk[0][i] !== null) {
      const [mean, low, high] = table_of.risk.map((column) => share(column[i], 1));
      const levels = cases.categories.levels;
      parts.push(`The expected risk is ${mean}${low === high ? "" : `, from ${low} to ${high} over the draws`} (scale ${Math.min(...levels)} to ${Math.max(...levels)}).`);
    }
    return parts;
  }

  function chips(i) {
    const items = [["certainty", share(table_of.certainty[i])]];
    if (table_of.category.length && table_of.category[i] !== null) items.push(["category", cases.categories.names[table_of.category[i]]]);
    if (table_of.risk.length) items.push(["expected risk", share(table_of.risk[0][i])]);
    if (table_of.disagreement.length) items.push(["disagreement", share(table_of.disagreement[i])]);
    cases.strata.forEach((stratum, s) => items.push([stratum.name, stratum.labels[table_of.strata[s][i]]]));
    cases.rules.forEach((rule, place) => isNamed(place, i) && items.push(["", rule]));
    return element("ul", { class: "chips" }, ...items.map(([label, text]) => element("li", {}, `${label} `, bold(text))));
  }

  function imageOf(i, known) {
    if (known.withheld) {
      return element("p", { class: "note withheld", text: `An image of this case is not loaded from the network: ${known.withheld} (the report shows it if it is written with --remote-images).` });
    }
    if (!known.images) return null;
    const image = element("img", { alt: `Image of case ${table_of.cases[i]}`, referrerpolicy: "no-referrer", hidden: true });
    image.addEventListener("load", () => (image.hidden = false));
    image.addEventListener("error", () => image.remove());
    image.src = known.images;
    return image;
  }

  async function show(i) {
    state.at = i;
    drawTable();
    const known = await detailOf(i);
    if (state.at !== i) return; // another one was chosen meanwhile
    const place = state.order.indexOf(i);
    const hue = hueOf(i);
    const step = (shift, text) => element("button", { type: "button", class: "quiet", text, disabled: place < 0 || state.order[place + shift] === undefined, onclick: () => moveTo(place + shift) });
    const heading = element("h3", { tabindex: "-1", text: table_of.cases[i] });
    detail.replaceChildren(...[
      element("div", { class: "case-head" }, heading, element("div", { class: "actions" }, step(-1, "Previous case"), step(1, "Next case"))),
      chips(i),
      element("p", { class: "sentence" }, ...firstSentence(i, known), ...supportersSentence(i, known), ...riskSentence(i)),
      imageOf(i, known),
      element("div", { class: "two" }, opinionsPart(known, hue), plausibilitiesPart(i, known, hue)),
      modelsPart(i, known, hue),
    ].filter(Boolean));
    detail.setAttribute("aria-label", `Case ${table_of.cases[i]}`);
    detail.hidden = false;
  }

  // List as a file: the lines of the file of all cases that are listed.
  function download() {
    const bytes = Uint8Array.from(atob(find("#file").href.split(",")[1]), (letter) => letter.charCodeAt(0));
    const lines = new TextDecoder().decode(bytes).split("\r\n");
    const text = `\ufeff${[lines[0], ...state.order.map((i) => lines[i + 1])].join("\r\n")}\r\n`;
    const link = element("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: "cases.csv" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // Start ------------------------------------------------------------------------------------------------

  async function start() {
    table_of = await unpacked(cases.table);
    position = new Map(table_of.cases.map((name, i) => [name, i]));
    haystacks = table_of.cases.map((name, i) => [name, ...table_of.support[i].filter((code) => code !== REST).map((code) => cases.conditions[code])].join("\n").toLowerCase());
    buildFilters();
    if (isRated) find("#search").placeholder = "case";
    explorer.hidden = false;
    filters.addEventListener("submit", (event) => event.preventDefault());
    filters.addEventListener("reset", () => setTimeout(() => {
      Object.assign(state, { view: null, sorts: [["certainty", false]] });
      refresh();
    }, 0));
    filters.addEventListener("input", refresh);
    table.addEventListener("keydown", onKey);
    table.addEventListener("click", async (event) => {
      const row = event.target.closest("tr[data-case]");
      if (!row || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      const i = Number(row.dataset.case);
      await visit(i, {});
      rowOf(i)?.focus({ preventScroll: true });
      detail.scrollIntoView({ block: "nearest" });
    });
    detail.addEventListener("keydown", (event) => event.key === "Escape" && rowOf(state.at)?.focus());
    find("#previous").addEventListener("click", () => { state.page -= 1; drawTable(); });
    find("#next").addEventListener("click", () => { state.page += 1; drawTable(); });
    find("#download").addEventListener("click", download);
    window.addEventListener("hashchange", () => follow());
    refresh();
    await follow({ jump: true });
    document.documentElement.dataset.ready = "true";
  }

  start();
})();

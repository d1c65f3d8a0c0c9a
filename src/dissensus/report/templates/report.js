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

  if (window.innerWidth < 992) find(".contents details").open = false;
  const links = new Map(all(".contents a").map((link) => [link.getAttribute("href").slice(1), link]));
  const reading = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => {
      links.forEach((link) => link.removeAttribute("aria-current"));
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }),
    { rootMargin: "-20% 0px -70% 0px" },
  );
  all("main > section").forEach((section) => reading.observe(section));

  const copy = find("#copy");
  if (navigator.clipboard) {
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
  const OTHERS = "any other condition";
  const SYMBOLS = ["●", "◆", "▲", "■", "★", "✚", "○", "◇", "△", "□"];
  const CERTAIN = 990;
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const position = new Map(cases.cases.map((name, i) => [name, i]));
  const isRated = cases.kind === "ratings";
  const state = { run: 0, metric: 0, key: "certainty", down: false, page: 0, order: [], at: null };
  const run = () => cases.runs[state.run];
  const share = (value, digits = 2) => (value === null || value === undefined ? "–" : (value / 1000).toFixed(digits).replace("-", "−"));
  const percent = (value) => (value > 0 && value < 5 ? "under 1\u00a0%" : value >= 995 && value < 1000 ? "over 99\u00a0%" : `${Math.round(value / 10)}\u00a0%`);
  const conditionName = (code) => (code === REST ? OTHERS : cases.conditions[code]);
  const plural = (count, one, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

  // A flat list with ties: a negative number is tied with the condition before it.
  function blocksOf(flat) {
    const blocks = [];
    for (const code of flat) {
      if (code < 0) blocks[blocks.length - 1].push(-code - 1);
      else blocks.push([code]);
    }
    return blocks;
  }

  const haystacks = cases.cases.map((name, i) => {
    const mentioned = cases.runs[0].support[i].filter((code) => code !== REST).map((code) => cases.conditions[code]);
    return [name, ...mentioned].join("\n").toLowerCase();
  });

  const columns = () => [
    { key: "name", title: "case", isText: true, of: (i) => cases.cases[i] },
    { key: "certainty", title: "certainty", term: "certainty", of: (i) => run().certainty[i], meter: true },
    { key: "winner", title: "most plausible", isText: true, of: (i) => conditionName(run().winner[i]) },
    run().risk.length ? { key: "risk", title: "expected risk", term: "expected risk", of: (i) => run().risk[0][i] } : null,
    cases.disagreement.length ? { key: "disagreement", title: "disagreement", term: "disagreement", of: (i) => cases.disagreement[i] } : null,
    ...cases.models.map((model, m) => ({ key: `model ${m}`, title: model, of: (i) => run().scores[m][state.metric][i] })),
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

  function buildFilters() {
    const place = find("#filter-places");
    const anything = ["", "all"];
    if (cases.categories) {
      place.append(chooser("Category", [anything, ...cases.categories.names.map((name, c) => [c, name])], { id: "category" }));
    }
    cases.strata.forEach((stratum, s) => {
      place.append(chooser(stratum.name, [anything, ...stratum.labels.map((label, c) => [c, label])], { "data-stratum": s }));
    });
    if (cases.runs.length > 1) {
      place.append(chooser("Aggregation", cases.runs.map((one, r) => [r, one.label]), { id: "case-run" }));
    }
    if (cases.models.length && cases.metrics.length > 1) {
      place.append(chooser("Score", cases.metrics.map((one, m) => [m, one.name]), { id: "case-metric" }));
    }
  }

  const wanted = (selector) => find(selector)?.value ?? "";
  function isShown(i) {
    const text = wanted("#search").trim().toLowerCase();
    const category = wanted("#category");
    const limit = Number.parseFloat(wanted("#threshold"));
    if (text && !haystacks[i].includes(text)) return false;
    if (category !== "" && run().category[i] !== Number(category)) return false;
    if (!Number.isNaN(limit) && run().certainty[i] > 1000 * limit + 1e-6) return false;
    return all("[data-stratum]", filters).every(
      (select) => select.value === "" || cases.strata[select.dataset.stratum].codes[i] === Number(select.value),
    );
  }

  function compare(column) {
    const sign = state.down ? -1 : 1;
    return (a, b) => {
      const [x, y] = [column.of(a), column.of(b)];
      if (x === null || y === null) return (x === null) - (y === null) || a - b;
      return sign * (column.isText ? collator.compare(x, y) : x - y) || a - b;
    };
  }

  function refresh(keepPage = false) {
    state.run = Number(wanted("#case-run") || 0);
    state.metric = Number(wanted("#case-metric") || 0);
    const column = columns().find((one) => one.key === state.key) ?? columns()[1];
    state.order = cases.cases.map((_, i) => i).filter(isShown).sort(compare(column));
    if (!keepPage) state.page = 0;
    drawTable();
  }

  // Table ------------------------------------------------------------------------------------------------

  function headCell(column) {
    const sort = column.key === state.key ? (state.down ? "descending" : "ascending") : null;
    const button = element("button", { type: "button", text: column.title, onclick: () => sortBy(column) });
    if (column.term) button.title = page.glossary[column.term];
    else if (column.key.startsWith("model")) button.title = `${cases.metrics[state.metric].name} of ${column.title} on the case`;
    return element("th", { scope: "col", "aria-sort": sort, class: column.isText ? "text" : null, "data-key": column.key }, button);
  }

  function sortBy(column) {
    state.down = state.key === column.key ? !state.down : !column.isText && column.key !== "certainty" && !column.key.startsWith("model");
    state.key = column.key;
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
      const mark = column.key === "winner" ? markOf(run().winner[i]) : null;
      return element("td", { class: "text" }, element("span", { class: "clip", title: value }, value, mark ?? ""));
    }
    const cell = element("td", {}, share(value));
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
      { "data-case": i, tabindex: i === reachable ? "0" : "-1", "aria-selected": String(i === state.at) },
      ...shown.map((column) => bodyCell(column, i)),
    )));
    const total = cases.cases.length;
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

  function onKey(event) {
    const row = event.target.closest("tr[data-case]");
    if (!row) return;
    const i = Number(row.dataset.case);
    const here = state.order.indexOf(i);
    const steps = { ArrowDown: here + 1, ArrowUp: here - 1, PageDown: here + ROWS, PageUp: here - ROWS, Home: 0, End: state.order.length - 1 };
    // The first arrow opens the case that has the focus, unless it is open already.
    if (event.key in steps) moveTo(state.at === i || here < 0 ? steps[event.key] : event.key.startsWith("Arrow") && state.at === null ? here : steps[event.key]);
    else if (event.key === "Enter" || event.key === " ") {
      visit(i, {});
      find("h3", detail)?.focus();
    } else return;
    event.preventDefault();
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
    const hash = hashOf(cases.cases[i]);
    if (location.hash !== hash) {
      if (replace) location.replace(hash);
      else location.hash = hash;
    }
    show(i);
  }

  function follow({ jump = false } = {}) {
    const name = nameFromHash();
    if (name === null) {
      if (location.hash === "" || location.hash === "#cases") close();
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
      show(i);
      jump = true; // the address was changed by hand or by the back button
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
    const ordered = cases.runs[0].support[i].filter((code) => code !== REST);
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
  function opinionRows(i) {
    const given = cases.opinions[i];
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

  function opinionsPart(i, hue) {
    const rows = opinionRows(i);
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

  function plausibilitiesPart(i, hue) {
    const { support, mean, top, draws, hidden } = run();
    const rows = support[i].flatMap((code, c) => plausibilityRow(code, mean[i][c], top[i][c], draws[i][c], hue));
    const axis = element("span", { class: "axis", "aria-hidden": "true" }, ...["0", "0.5", "1"].map((text) => element("span", { text })));
    return element(
      "section", { class: "part" },
      element("h4", { text: `Plausibilities (${run().label})` }),
      element("div", { class: "bars" }, ...rows, element("span"), axis, element("span")),
      hidden[i] ? element("p", { class: "marks", text: `${plural(hidden[i], "less plausible condition")} not shown.` }) : null,
      element("p", { class: "marks", text: draws[i].some((one) => one.length > 1) ? "Bars: average over draws. Dots: single draws." : "Bars: plausibility." }),
    );
  }

  function modelsPart(i, hue) {
    if (!cases.models.length) return null;
    const plausible = new Map(run().support[i].map((code, c) => [code, run().mean[i][c]]));
    const note = (code) => (plausible.has(code) ? share(plausible.get(code)) : "–");
    const said = cases.numbers.some((one) => one.length) ? "number" : "first conditions, with their plausibility";
    const head = element("tr", {}, ...["model", said, ...cases.metrics.map((one) => one.name)].map((text) => element("th", { scope: "col", text })));
    const rows = cases.models.map((model, m) => element(
      "tr", {},
      element("th", { scope: "row", text: model }),
      cases.numbers[m].length ? element("td", { text: cases.numbers[m][i] }) : element("td", { class: "list" }, rankingBoxes(cases.lists[m][i], hue, note)),
      ...cases.metrics.map((one, k) => element("td", { "data-label": one.name, text: share(run().scores[m][k][i]) })),
    ));
    return element(
      "section", { class: "part" },
      element("h4", { text: `What the models said, and their ${run().estimand} scores on this case` }),
      element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Models on this case" }, element("table", { class: "scores stacking" }, element("thead", {}, head), element("tbody", {}, ...rows))),
    );
  }

  const bold = (text) => element("b", { text });

  function firstSentence(i) {
    const order = run().support[i].map((code, c) => [code, run().top[i][c]]).sort((a, b) => b[1] - a[1]);
    const [winner, next] = order;
    if (!winner) return ["Nothing is known about this case."];
    const named = (code) => (code === REST ? "a condition that nobody mentioned" : conditionName(code));
    if (run().certainty[i] >= CERTAIN) return ["The annotations settle this case: ", bold(named(winner[0])), " is the most plausible condition in practically every draw. "];
    const start = [bold(named(winner[0])), ` is the most plausible condition in ${percent(winner[1])} of the draws`];
    if (next && next[1] > 0) start.push(", ", bold(named(next[0])), ` in ${percent(next[1])}`);
    const rest = order.slice(2).reduce((sum, [, top]) => sum + top, 0);
    if (rest >= 10) start.push(`, others in ${percent(rest)}`);
    return [...start, ". "];
  }

  function supportersSentence(i) {
    if (isRated) return [];
    const rows = cases.opinions[i].map(([said, people]) => [blocksOf(said)[0] ?? [], votes(people)]);
    const total = rows.reduce((sum, [, count]) => sum + count, 0);
    if (total === 1) return ["Only one annotator gave an opinion, so much of it is trust. "];
    const winner = run().winner[i];
    if (winner === REST) return [];
    const behind = rows.reduce((sum, [first, count]) => sum + (first.includes(winner) ? count : 0), 0);
    return [`Annotators who put ${conditionName(winner)} first, alone or tied: ${behind} of ${total}. `];
  }

  function riskSentence(i) {
    const parts = [];
    if (cases.categories && run().category[i] !== null && run().category.length) {
      const name = cases.categories.names[run().category[i]];
      const certainty = run().categoryCertainty[i];
      parts.push(certainty >= CERTAIN ? `Its category, ${name}, is settled. ` : `Its category is open, too: ${name} in ${percent(certainty)} of the draws. `);
    }
    if (run().risk.length && run().risk[0][i] !== null) {
      const [mean, low, high] = run().risk.map((column) => share(column[i], 1));
      const levels = cases.categories.levels;
      parts.push(`The expected risk is ${mean}${low === high ? "" : `, from ${low} to ${high} over the draws`} (scale ${Math.min(...levels)} to ${Math.max(...levels)}).`);
    }
    return parts;
  }

  function chips(i) {
    const items = [["certainty", share(run().certainty[i])]];
    if (run().category.length && run().category[i] !== null) items.push(["category", cases.categories.names[run().category[i]]]);
    if (run().risk.length) items.push(["expected risk", share(run().risk[0][i])]);
    if (cases.disagreement.length) items.push(["disagreement", share(cases.disagreement[i])]);
    cases.strata.forEach((stratum) => items.push([stratum.name, stratum.labels[stratum.codes[i]]]));
    return element("ul", { class: "chips" }, ...items.map(([label, text]) => element("li", {}, `${label} `, bold(text))));
  }

  function withheldOf(i) {
    const address = cases.withheld?.[i];
    if (!address) return null;
    return element("p", { class: "note withheld", text: `An image of this case is not loaded from the network: ${address} (the report shows it if it is written with --remote-images).` });
  }

  function imageOf(i) {
    const source = cases.images?.[i];
    if (!source) return withheldOf(i);
    const image = element("img", { alt: `Image of case ${cases.cases[i]}`, referrerpolicy: "no-referrer", hidden: true });
    image.addEventListener("load", () => (image.hidden = false));
    image.addEventListener("error", () => image.remove());
    image.src = source;
    return image;
  }

  function show(i) {
    state.at = i;
    const place = state.order.indexOf(i);
    const hue = hueOf(i);
    const step = (shift, text) => element("button", { type: "button", class: "quiet", text, disabled: place < 0 || state.order[place + shift] === undefined, onclick: () => moveTo(place + shift) });
    const heading = element("h3", { tabindex: "-1", text: cases.cases[i] });
    detail.replaceChildren(...[
      element("div", { class: "case-head" }, heading, element("div", { class: "actions" }, step(-1, "Previous case"), step(1, "Next case"))),
      chips(i),
      element("p", { class: "sentence" }, ...firstSentence(i), ...supportersSentence(i), ...riskSentence(i)),
      imageOf(i),
      element("div", { class: "two" }, opinionsPart(i, hue), plausibilitiesPart(i, hue)),
      modelsPart(i, hue),
    ].filter(Boolean));
    detail.setAttribute("aria-label", `Case ${cases.cases[i]}`);
    detail.hidden = false;
    drawTable();
  }

  // List as a file ---------------------------------------------------------------------------------------

  // A spreadsheet takes a cell that starts like this for a formula.
  const guarded = (text) => (/^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text);
  const cell = (value) => {
    const text = typeof value === "number" ? String(value) : guarded(String(value ?? ""));
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const plain = (value) => (value === null || value === undefined ? "" : value / 1000);

  function csvColumns() {
    const one = run();
    return [
      ["case", (i) => cases.cases[i]],
      ["certainty", (i) => plain(one.certainty[i])],
      ["most plausible", (i) => conditionName(one.winner[i])],
      ...(one.category.length ? [["category", (i) => cases.categories.names[one.category[i]] ?? ""], ["category certainty", (i) => plain(one.categoryCertainty[i])]] : []),
      ...one.risk.map((column, c) => [["expected risk", "least risk", "greatest risk"][c], (i) => plain(column[i])]),
      ...(cases.disagreement.length ? [["disagreement", (i) => plain(cases.disagreement[i])]] : []),
      ...cases.strata.map((stratum) => [stratum.name, (i) => stratum.labels[stratum.codes[i]]]),
      ...cases.models.flatMap((model, m) => cases.metrics.map((metric, k) => [`${model}: ${metric.name}`, (i) => plain(one.scores[m][k][i])])),
    ];
  }

  function download() {
    const wantedColumns = csvColumns();
    const lines = [wantedColumns.map(([name]) => cell(name)), ...state.order.map((i) => wantedColumns.map(([, of]) => cell(of(i))))];
    const text = `\ufeff${lines.map((line) => line.join(",")).join("\r\n")}\r\n`;
    const link = element("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: "cases.csv" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // Start ------------------------------------------------------------------------------------------------

  buildFilters();
  explorer.hidden = false;
  filters.addEventListener("submit", (event) => event.preventDefault());
  filters.addEventListener("reset", () => setTimeout(() => {
    Object.assign(state, { key: "certainty", down: false });
    refresh();
  }, 0));
  filters.addEventListener("input", (event) => {
    refresh();
    if (event.target.id === "case-run" && state.at !== null) show(state.at);
  });
  table.addEventListener("keydown", onKey);
  table.addEventListener("click", (event) => {
    const row = event.target.closest("tr[data-case]");
    if (!row || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    visit(Number(row.dataset.case), {});
    rowOf(row.dataset.case)?.focus({ preventScroll: true });
    detail.scrollIntoView({ block: "nearest" });
  });
  detail.addEventListener("keydown", (event) => event.key === "Escape" && rowOf(state.at)?.focus());
  find("#previous").addEventListener("click", () => { state.page -= 1; drawTable(); });
  find("#next").addEventListener("click", () => { state.page += 1; drawTable(); });
  find("#download").addEventListener("click", download);
  window.addEventListener("hashchange", () => follow());
  refresh();
  follow({ jump: true });
  document.documentElement.dataset.ready = "true";
})();

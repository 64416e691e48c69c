"use strict";
// Interactive features. Without JavaScript the page shows the same content, unsorted.

// An element with a text or another element in it.
const make = (name, text, attributes = {}) => {
  const element = document.createElement(name);
  element.append(text);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
};

// A button in each heading sorts the table: ascending, descending, original order. Empty cells have no key and come last.
// Sorting is stable, so that ties keep the order of the column sorted before.
// Tables of several rows have a box that leaves the rows with a text.
const words = new Intl.Collator("en", { numeric: true });
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const original = [...body.rows];
  const headings = [...table.tHead.rows[0].cells];
  if (original.length >= 5) {
    const box = make("input", "", { type: "search", autocomplete: "off", spellcheck: "false" });
    const count = document.createElement("output");
    const label = make("label", "Filter rows ");
    const bar = make("p", label, { class: "rows" });
    label.append(box);
    bar.append(count);
    table.parentElement.before(bar);
    box.setAttribute("aria-label", `Filter rows: ${table.getAttribute("aria-label")}`);
    box.addEventListener("input", () => {
      const wanted = box.value.trim().toLocaleLowerCase();
      for (const row of original) row.hidden = !row.textContent.toLocaleLowerCase().includes(wanted);
      count.textContent = wanted ? `${original.filter((row) => !row.hidden).length} of ${original.length}` : "";
    });
  }
  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const next = { none: "ascending", ascending: "descending", descending: "none" };
      const order = next[heading.getAttribute("aria-sort") || "none"];
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      if (order === "none") {
        body.append(...original);
        return;
      }
      heading.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const numeric = heading.dataset.sort === "number";
      const key = (row) => row.cells[column].dataset.key;
      const compare = (one, other) => (numeric ? one - other : words.compare(one, other));
      body.append(
        ...[...body.rows].sort((one, other) => {
          const [left, right] = [key(one), key(other)];
          if (left === undefined || right === undefined) return (left === undefined) - (right === undefined);
          return sign * compare(left, right);
        }),
      );
    });
  });
}

// The search box hides the sentences whose source, reference and translations all lack the text.
const filter = document.getElementById("filter");
const said = document.querySelector("output[for=filter]");
const sets = [...document.querySelectorAll("details.set")];
const folded = new Map(sets.map((set) => [set, set.open]));
filter.parentElement.hidden = sets.length === 0;
filter.addEventListener("input", () => {
  const wanted = filter.value.trim().toLocaleLowerCase();
  let shown = 0;
  let all = 0;
  for (const set of sets) {
    let here = 0;
    for (const sentence of set.querySelectorAll(".sentence")) {
      const found = [...sentence.querySelectorAll("p")].some((text) => text.textContent.toLocaleLowerCase().includes(wanted));
      sentence.hidden = !found;
      here += found;
      all += 1;
    }
    set.hidden = here === 0;
    set.open = wanted ? here > 0 : folded.get(set);
    shown += here;
  }
  said.textContent = wanted ? `${shown} of ${all}` : "";
});

// Two systems chosen by the reader: means and intervals by Tukey's test, and the sentences on which they differ most.
async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

// The words that differ from the reference are marked as in the section of translations: by a longest common subsequence.
function marked(reference, translation, pattern) {
  const split = (text) => (text.match(new RegExp(pattern, "gu")) || []).filter((token) => token.trim());
  const [wanted, found] = [split(reference), split(translation)];
  const common = Array.from({ length: wanted.length + 1 }, () => new Uint16Array(found.length + 1));
  for (let i = wanted.length - 1; i >= 0; i -= 1) {
    for (let j = found.length - 1; j >= 0; j -= 1) {
      const skipped = Math.max(common[i + 1][j], common[i][j + 1]);
      common[i][j] = wanted[i] === found[j] ? common[i + 1][j + 1] + 1 : skipped;
    }
  }
  const same = new Set();
  const missing = new Map(); // before which word of the translation which words of the reference are missing
  let [i, j] = [0, 0];
  while (i < wanted.length || j < found.length) {
    if (i < wanted.length && j < found.length && wanted[i] === found[j]) {
      same.add(j);
      [i, j] = [i + 1, j + 1];
    } else if (j === found.length || (i < wanted.length && common[i + 1][j] >= common[i][j + 1])) {
      missing.set(j, [...(missing.get(j) || []), wanted[i]]);
      i += 1;
    } else {
      j += 1;
    }
  }
  const pieces = document.createDocumentFragment();
  const gap = (place) => {
    // Words that differ are marked.
    if (missing.has(place) && (place === found.length || same.has(place)) && (place === 0 || same.has(place - 1))) {
      pieces.append(make("del", "‸", { class: "gap", title: missing.get(place).join(" ") }));
    }
  };
  let word = 0;
  for (const token of translation.match(new RegExp(pattern, "gu")) || []) {
    if (!token.trim()) {
      pieces.append(token);
      continue;
    }
    gap(word);
    pieces.append(same.has(word) ? token : make("mark", token));
    word += 1;
  }
  gap(word);
  return pieces;
}

function compare(data, names) {
  const box = document.getElementById("compared");
  const [system, other, place] = [names.system, names.other, data.places[names.place]];
  const pairOf = (metric) => {
    const [one, two] = [system, other].map((name) => metric.systems.indexOf(name));
    if (one < 0 || two < 0 || one === two || metric.halves.length === 0) return null;
    const [low, high] = one < two ? [one, two] : [two, one];
    // Pairs are in the order (0, 1), (0, 2), …, (1, 2), ….
    const index = low * metric.systems.length - (low * (low + 1)) / 2 + high - low - 1;
    const flipped = { better: "worse", worse: "better" };
    const outcome = metric.outcomes[index].replace(/^(better|worse)/, (word) => (one < two ? word : flipped[word]));
    return { one, two, value: metric.means[one] - metric.means[two], half: metric.halves[index], p: metric.p[index], outcome };
  };
  const shown = (value, digits, sign = false) =>
    (sign && value >= 0 ? "+" : "") + value.toFixed(digits);
  const heads = ["Metric", "Difference", `${data.confidence} % interval`, "p", "Outcome", system, other, "Difference of each seed"];
  box.querySelector("thead tr").replaceChildren(...heads.map((text) => make("th", text, { scope: "col" })));
  const notes = [];
  const rows = place.metrics.map((metric) => {
    const { digits } = metric;
    const pair = pairOf(metric);
    const mean = (name) => {
      const index = metric.systems.indexOf(name);
      return index < 0 ? "–" : shown(metric.means[index], digits);
    };
    const row = document.createElement("tr");
    const cells = [];
    const means = [mean(system), mean(other)];
    if (pair) {
      const { one, two, value, half, p, outcome } = pair;
      const [low, high] = [value - half, value + half].map((end) => shown(end, digits, true));
      const seeds = metric.seeds.map((seed, at) => [seed, metric.scores[one][at] - metric.scores[two][at]]);
      cells.push(shown(value, digits, true), `[${low}, ${high}]`, p < 0.001 ? "<0.001" : p.toFixed(3), outcome, ...means);
      cells.push(seeds.map(([seed, difference]) => `${seed}: ${shown(difference, digits, true)}`).join(", "));
    } else {
      const why = [system, other].filter((name) => metric.why[name]).map((name) => `${name}: ${metric.why[name]}`);
      if (system !== other) notes.push(`${metric.label}: no interval (${why.join("; ") || metric.problem}).`);
      cells.push("–", "–", "–", "untested", ...means, "–");
    }
    const heading = metric.lower ? `${metric.label} ↓` : metric.label;
    row.append(make("th", heading, { scope: "row" }), ...cells.map((text) => make("td", text)));
    if (pair && metric.small) notes.push(`${metric.label}: the seeds vary less than the sentences on which they differ explain, so the interval is probably too narrow.`);
    for (const name of [system, other].filter((name) => pair && metric.unstable.includes(name))) notes.push(`${metric.label}: ${name} varies more over the seeds than the others, so the interval uses its own spread.`);
    for (const [one, two, verdict] of metric.declared) {
      if (![system, other].includes(one) || ![system, other].includes(two)) continue;
      const own = metric.baselineVaries ? ` (It uses the spread of ${two}, which varies more over the seeds than the others by the check of the baseline; the interval above does not.)` : "";
      notes.push(`Declared comparison: ${verdict}${own}`);
    }
    return row;
  });
  box.querySelector("tbody").replaceChildren(...rows);
  const [metric] = place.metrics;
  const pair = metric && pairOf(metric);
  const words = { better: `${system} is better than ${other}`, worse: `${system} is worse than ${other}` };
  words.equivalent = `${system} and ${other} are equivalent`;
  words.undecided = `These seeds do not decide between ${system} and ${other}`;
  const kind = pair && pair.outcome.split(",")[0];
  const [status] = box.querySelectorAll("[role=status]");
  if (system === other) status.textContent = "Choose two different systems.";
  else if (!pair) status.textContent = `${system} and ${other} could not be tested on ${place.title}.`;
  else {
    const [low, high] = [pair.value - pair.half, pair.value + pair.half];
    const within = pair.outcome.includes(",") ? ", within the margin" : "";
    status.textContent =
      `${words[kind]}${within} on ${place.title}: ${shown(pair.value, metric.digits, true)} ${metric.label}, ` +
      `interval ${shown(low, metric.digits, true)} to ${shown(high, metric.digits, true)}.`;
  }
  if (!data.exact) notes.push(data.notExact);
  box.querySelector(".below").replaceChildren(...notes.map((text) => make("p", text)));

  const chosen = place.pairs[`${system}\n${other}`] || place.pairs[`${other}\n${system}`] || [];
  const about = box.querySelector("h3 + p");
  box.querySelector("h3").textContent = chosen.length ? `${chosen.length} sentences on which they differ most` : "";
  const absent = [system, other].filter((name) => place.absent[name]).map((name) => `No translations of ${name}: ${place.absent[name]}.`);
  const seeds = [system, other].map((name) => `${name}: seed ${place.shown[name]}`);
  const rated = place.rated ? ` The number after a system is the sentence’s ${place.rated}, by whose difference the sentences are chosen.` : "";
  about.textContent = absent.join(" ") || (chosen.length ? `${seeds.join(", ")}; ${place.total} sentences in all.${rated}` : system === other ? "" : "Their translations are the same.");
  box.querySelector(".sentences").replaceChildren(
    ...chosen.map((index) => {
      const [source, reference] = place.sentences[index];
      const part = (heading, content, language, score) => {
        const title = make("h5", heading);
        if (score !== undefined) title.append(" ", make("span", score.toFixed(1)));
        const block = document.createElement("div");
        block.append(title, make("p", content, { lang: language, dir: "auto" }));
        return block;
      };
      const article = make("article", make("h4", `Sentence ${index + 1}`), { class: "sentence" });
      const given = make("div", part("Source", source, place.languages[0]), { class: "given" });
      given.append(part("Reference", reference, place.languages[1]));
      const found = make("div", "", { class: "found" });
      for (const name of [system, other]) {
        const text = place.lines[name][index];
        const content = text ? marked(reference, text, place.tokens) : make("span", "nothing", { class: "absent" });
        found.append(part(name, content, place.languages[1], (place.ratings[name] || {})[index]));
      }
      article.append(given, found);
      return article;
    }),
  );
}

const picks = document.querySelector(".pick");
if (typeof DecompressionStream !== "undefined") {
  unpack(document.getElementById("pairs").textContent.trim()).then((data) => {
    const [system, other, place] = ["system", "other", "place"].map((name) => document.getElementById(`pick-${name}`));
    const fill = (select, names, values) => select.append(...names.map((name, index) => make("option", name, { value: values[index] })));
    fill(system, data.systems, data.systems);
    fill(other, data.systems, data.systems);
    fill(place, data.places.map(({ title }) => title), data.places.map((_, index) => index));
    const declared = data.places.flatMap(({ metrics }) => metrics.flatMap((metric) => metric.declared));
    [system.value, other.value] = declared.length ? declared[0] : [data.systems[0], data.systems[1] || data.systems[0]];
    const show = () => compare(data, { system: system.value, other: other.value, place: place.value });
    for (const select of [system, other, place]) select.addEventListener("change", show);
    picks.querySelector("button").addEventListener("click", () => {
      [system.value, other.value] = [other.value, system.value];
      show();
    });
    show();
    document.querySelector(".unscripted").hidden = true;
    picks.hidden = document.getElementById("compared").hidden = false;
  });
}

// A click on a figure enlarges it.
const dialog = document.getElementById("enlarged");
const large = dialog.querySelector("img");
dialog.addEventListener("click", (event) => event.target === large || dialog.close());
for (const image of document.querySelectorAll(".card img")) {
  const button = document.createElement("button");
  button.type = "button";
  button.title = "Enlarge";
  image.replaceWith(button);
  button.append(image);
  button.addEventListener("click", () => {
    large.src = image.src;
    large.alt = image.alt;
    dialog.showModal();
  });
}

// The exact values of a figure's marks, at the pointer or at the focus. A figure is one stop of the Tab key; the arrow
// keys, Home and End move between its marks. Escape hides the values wherever the focus is. The values remain while the
// pointer is on them, so that they can be read in a magnified page; the delay lets the pointer get there.
const tip = document.getElementById("tip");
let [pointed, leaving] = [false, 0];
const showTip = (mark) => {
  clearTimeout(leaving);
  tip.textContent = mark.getAttribute("aria-label");
  tip.hidden = false;
  const at = mark.getBoundingClientRect();
  const left = at.left + at.width / 2 - tip.offsetWidth / 2;
  const widest = document.documentElement.clientWidth - tip.offsetWidth - 4;
  const above = at.top - tip.offsetHeight - 6;
  tip.style.left = `${scrollX + Math.max(4, Math.min(left, widest))}px`;
  tip.style.top = `${scrollY + (above > 0 ? above : at.bottom + 6)}px`;
};
const hideTip = () => {
  clearTimeout(leaving);
  pointed = false;
  tip.hidden = true;
};
const leaveTip = () => {
  clearTimeout(leaving);
  leaving = setTimeout(() => pointed || hideTip(), 300);
};
tip.addEventListener("pointerenter", () => {
  pointed = true;
});
tip.addEventListener("pointerleave", () => {
  pointed = false;
  leaveTip();
});
document.addEventListener("keydown", (event) => event.key === "Escape" && hideTip());
for (const layer of document.querySelectorAll("svg.hints")) {
  const marks = [...layer.querySelectorAll("circle")];
  marks.forEach((mark, index) => {
    // A title would be shown a second time by the browser.
    const title = mark.querySelector("title");
    mark.setAttribute("aria-label", title.textContent);
    mark.setAttribute("tabindex", index ? "-1" : "0");
    title.remove();
  });
  layer.addEventListener("pointerover", (event) => event.target !== layer && showTip(event.target));
  layer.addEventListener("pointerout", leaveTip);
  // Chromium stops at a drawing that listens to the focus itself, so its parent does.
  const frame = layer.parentElement;
  frame.addEventListener("focusin", (event) => marks.includes(event.target) && showTip(event.target));
  frame.addEventListener("focusout", leaveTip);
  frame.addEventListener("keydown", (event) => {
    const now = marks.indexOf(event.target);
    const steps = { ArrowRight: now + 1, ArrowDown: now + 1, ArrowLeft: now - 1, ArrowUp: now - 1, Home: 0, End: marks.length - 1 };
    if (now < 0 || !(event.key in steps)) return;
    event.preventDefault();
    const next = marks[Math.max(0, Math.min(steps[event.key], marks.length - 1))];
    marks[now].setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
    showTip(next);
  });
}

// A link to a collapsed section opens it. A link in the menu of small screens closes the menu.
const menu = document.querySelector("details.menu");
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#']");
  if (!link) return;
  if (menu.contains(link)) menu.open = false;
  const target = document.getElementById(decodeURIComponent(link.hash.slice(1)));
  for (let place = target; place; place = place.parentElement) if (place.tagName === "DETAILS") place.open = true;
});

// The table of contents highlights the current section.
const entries = [...document.querySelectorAll(".side a")];
const sections = entries.map((link) => document.getElementById(link.hash.slice(1)));
const here = () => {
  const index = sections.findLastIndex((section) => section.getBoundingClientRect().top < innerHeight / 3);
  entries.forEach((link, number) => link.classList.toggle("here", number === Math.max(index, 0)));
};
addEventListener("scroll", here, { passive: true });
here();

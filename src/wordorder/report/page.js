"use strict";
// Interactive features. Without JavaScript the page shows the same content, unsorted.

// A button in each heading sorts the table: ascending, descending, original order. Empty cells have no key and come last.
// Sorting is stable, so that ties keep the order of the column sorted before.
const words = new Intl.Collator("en", { numeric: true });
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const original = [...body.rows];
  const headings = [...table.tHead.rows[0].cells];
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

// The list follows its filters without a reload: the same address is asked for, and the answer
// takes the place of the form, with focus, scroll and open groups kept.

const form = () => document.getElementById("filters");
let asked = 0;
let shown = location.search;

function address(data) {
  const query = new URLSearchParams([...new FormData(data)].filter(([, value]) => value));
  return `${data.getAttribute("action")}?${query}`;
}

function tidy() {
  for (const part of form().querySelectorAll("[data-plain]")) part.hidden = true;
  const kept = localStorage.filters?.split(",");
  if (kept) for (const group of form().querySelectorAll("[data-group]")) {
    group.open = kept.includes(group.dataset.group) || Boolean(group.querySelector(".count"));
  }
}

// Open groups stay open on the next visit.
addEventListener("toggle", ({ target }) => {
  if (target.dataset?.group) localStorage.filters = [...form().querySelectorAll("[data-group][open]")].map((group) => group.dataset.group);
}, true);

function place(page) {
  const focused = document.activeElement;
  const mark = focused?.name && `[name="${focused.name}"]` + (/checkbox|radio/.test(focused.type) ? `[value="${CSS.escape(focused.value)}"]` : "");
  const caret = focused?.type === "search" ? focused.selectionStart : null;
  const open = [...form().querySelectorAll("details")].map((item) => item.open);
  const fresh = page.getElementById("filters");
  [...fresh.querySelectorAll("details")].forEach((item, at) => { item.open = open[at] ?? item.open; });
  form().replaceWith(fresh);
  tidy();
  document.title = page.title;
  const again = mark && fresh.querySelector(mark);
  if (again) {
    again.focus({ preventScroll: true });
    if (caret !== null) again.setSelectionRange(caret, caret);
  }
  document.getElementById("said").textContent = fresh.querySelector(".title p").textContent;
}

async function show(url) {
  const turn = ++asked;
  const slow = setTimeout(() => form().setAttribute("aria-busy", "true"), 150);
  try {
    const answer = await fetch(url);
    if (!answer.ok) throw new Error(String(answer.status));
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (turn !== asked) return;
    if (answer.url !== location.href) history.pushState(null, "", answer.url);
    shown = location.search;
    place(page);
  } catch {
    location.assign(url);
  } finally {
    clearTimeout(slow);
    form().removeAttribute("aria-busy");
  }
}

addEventListener("change", (event) => {
  const { form, dataset } = event.target;
  // A choice waits for the field it needs.
  if (form?.id === "filters" && form.elements[dataset.with]?.value !== "") show(address(form));
});
addEventListener("submit", (event) => {
  if (event.target.id !== "filters") return;
  event.preventDefault();
  show(address(event.target));
});
// A link inside the page, such as the skip link, fires the same event and is none of our business.
addEventListener("popstate", () => {
  if (location.search !== shown) location.reload();
});

tidy();

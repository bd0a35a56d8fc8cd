// Single keys: "/" searches, "g m" goes to the models, "g q" to the query page, "?" explains, j and k
// move in lists.
// They rest inside fields, with a modifier held, and wherever the reader has switched them off.

const FIELDS = "input, select, textarea, [contenteditable]";
const PLACES = { m: "models", q: "query" };
let before = "";

function move(step) {
  const rows = [...document.querySelectorAll("[data-item]")];
  const at = rows.indexOf(document.activeElement.closest("[data-item]"));
  const next = rows[at < 0 && step < 0 ? rows.length - 1 : at + step]?.querySelector("a");
  if (next) next.focus();
  return Boolean(next);
}

function act(key) {
  if (before === "g" && PLACES[key]) {
    location.assign(document.querySelector(`a[data-go-to="${PLACES[key]}"]`).href);
    return true;
  }
  if (key === "/") {
    document.querySelector('[data-key="/"]').focus();
    return true;
  }
  if (key === "?") {
    location.assign(document.querySelector('a[data-go-to="help"]').href + "#keys");
    return true;
  }
  if (key === "j" || key === "k") return move(key === "j" ? 1 : -1);
  return false;
}

addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    const open = document.querySelector(".menu[open]");
    if (open) {
      open.open = false;
      open.querySelector("summary").focus();
    }
    return;
  }
  const off = document.documentElement.dataset.keys === "off";
  if (off || event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.(FIELDS)) return;
  if (act(event.key)) event.preventDefault();
  before = event.key;
});

addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll(".menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

// Models picked for comparison stay picked while filters and pages change, in this tab alone.
// Keys: x picks the row at hand, c compares.

const KEY = "picked";
const MOST = 6;
const FIELDS = "input:not([type=checkbox]), select, textarea, [contenteditable]";
let picked = new Set();
let first = null;

const boxes = () => [...document.querySelectorAll('input[name="m"][form="compare"]')];
const said = (text) => { document.getElementById("said").textContent = text; };

function kept() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY)) || [];
  } catch {
    return [];
  }
}

function keep() {
  try {
    sessionStorage.setItem(KEY, JSON.stringify([...picked]));
  } catch {
    // A browser that keeps nothing still compares what is on this page.
  }
}

function show() {
  const here = boxes();
  for (const box of here) box.checked = picked.has(box.value);
  const seen = new Set(here.map((box) => box.value));
  const hidden = [...picked].filter((ref) => !seen.has(ref)).map((ref) => {
    const field = document.createElement("input");
    field.type = "hidden";
    field.name = "m";
    field.value = ref;
    return field;
  });
  document.getElementById("compare").replaceChildren(...hidden);
  const tray = document.querySelector(".tray");
  if (!tray) return;
  tray.classList.toggle("on", picked.size > 0);
  tray.querySelector("[data-picked]").textContent = picked.size;
  tray.querySelector("[data-unpick]").hidden = false;
  tray.querySelector(".main").disabled = picked.size < 2;
}

function pick(box) {
  if (box.checked && picked.size >= MOST) {
    box.checked = false;
    said(`You can compare up to ${MOST} models`);
    return;
  }
  if (box.checked) picked.add(box.value);
  else picked.delete(box.value);
  keep();
  show();
  said(`${picked.size} selected`);
}

function begin() {
  picked = new Set(kept());
  for (const box of boxes()) if (box.checked && picked.size < MOST) picked.add(box.value);
  show();
}

addEventListener("change", (event) => {
  if (event.target.form?.id === "compare") pick(event.target);
});

addEventListener("click", (event) => {
  if (!event.target.closest?.("[data-unpick]")) return;
  picked.clear();
  keep();
  show();
  said("None selected");
});

addEventListener("keydown", (event) => {
  const off = document.documentElement.dataset.keys === "off";
  if (off || event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.(FIELDS)) return;
  if (event.key === "x") {
    const box = document.activeElement.closest?.("[data-item]")?.querySelector('[form="compare"]');
    if (!box) return;
    box.checked = !box.checked;
    pick(box);
    event.preventDefault();
  } else if (event.key === "c" && picked.size > 1) {
    event.preventDefault();
    document.getElementById("compare").requestSubmit();
  }
});

// Filters put new rows in the place of the old ones.
new MutationObserver(() => {
  const now = document.querySelector(".tray");
  if (now === first) return;
  first = now;
  show();
}).observe(document.getElementById("main"), { childList: true, subtree: true });

addEventListener("pageshow", begin);
first = document.querySelector(".tray");
begin();

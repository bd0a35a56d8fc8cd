// Suggestions under the search field in the head: a listbox that arrow keys walk through. Enter
// without a choice goes to the full list, as it does without scripts.

const DELAY = 150;
const field = document.querySelector("[data-suggest]");
const list = document.createElement("ul");
let at = -1;
let timer = 0;
let request = null;

function close() {
  clearTimeout(timer);
  request?.abort();
  at = -1;
  list.hidden = true;
  list.replaceChildren();
  field.setAttribute("aria-expanded", "false");
  field.removeAttribute("aria-activedescendant");
}

function choose(next) {
  const options = list.children;
  options[at]?.setAttribute("aria-selected", "false");
  at = next;
  const option = options[at];
  if (!option) {
    field.removeAttribute("aria-activedescendant");
    return;
  }
  option.setAttribute("aria-selected", "true");
  option.scrollIntoView({ block: "nearest" });
  field.setAttribute("aria-activedescendant", option.id);
}

function option(item, index) {
  const row = document.createElement("li");
  row.id = `suggestion-${index}`;
  row.setAttribute("role", "option");
  row.setAttribute("aria-selected", "false");
  row.dataset.url = item.url;
  const name = document.createElement("span");
  for (const [text, hit] of item.parts) {
    const part = document.createElement(hit ? "mark" : "span");
    part.textContent = text;
    name.append(part);
  }
  const task = document.createElement("small");
  task.textContent = item.task;
  row.append(name, task);
  return row;
}

async function ask() {
  request?.abort();
  request = new AbortController();
  const text = field.value.trim();
  try {
    const url = `${field.dataset.suggest}?${new URLSearchParams({ q: text })}`;
    const answer = await fetch(url, { signal: request.signal });
    if (!answer.ok) return close();
    const { items } = await answer.json();
    if (text !== field.value.trim() || document.activeElement !== field) return;
    list.replaceChildren(...items.map(option));
    choose(-1);
    list.hidden = !items.length;
    field.setAttribute("aria-expanded", String(!list.hidden));
    const many = items.length === 1 ? "1 suggestion" : `${items.length || "No"} suggestions`;
    document.getElementById("said").textContent = many;
  } catch {
    // A newer question took its place, or the line is down: the full list is one key away.
  }
}

function begin() {
  list.id = "suggestions";
  list.className = "suggestions";
  list.hidden = true;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Models");
  field.type = "text"; // a search field may not be a combobox
  field.setAttribute("enterkeyhint", "search");
  for (const [name, value] of [["role", "combobox"], ["aria-autocomplete", "list"], ["aria-controls", list.id], ["aria-expanded", "false"]]) {
    field.setAttribute(name, value);
  }
  field.after(list);
  field.addEventListener("input", () => {
    clearTimeout(timer);
    if (field.value.trim()) timer = setTimeout(ask, DELAY);
    else close();
  });
  field.addEventListener("keydown", (event) => {
    if (list.hidden || event.isComposing) return;
    const many = list.children.length;
    if (event.key === "ArrowDown") choose(at + 1 < many ? at + 1 : -1);
    else if (event.key === "ArrowUp") choose(at < 0 ? many - 1 : at - 1);
    else if (event.key === "Escape") close();
    else if (event.key === "Enter" && at >= 0) location.assign(list.children[at].dataset.url);
    else return;
    event.preventDefault();
  });
  field.addEventListener("blur", close);
  list.addEventListener("mousedown", (event) => event.preventDefault());
  list.addEventListener("click", (event) => {
    const row = event.target.closest("[role=option]");
    if (row) location.assign(row.dataset.url);
  });
}

if (field) begin();

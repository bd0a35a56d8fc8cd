// The editor: numbered lines, Ctrl+Enter runs, Tab indents (Escape, then Tab, leaves), the line at
// fault is marked, and a term of the vocabulary goes to where the caret is.

const form = document.getElementById("ask");
const field = document.getElementById("query");
const MOST = 2000;

const ruler = document.createElement("div");
ruler.className = "ruler";
ruler.setAttribute("aria-hidden", "true");

function draw() {
  const lines = field.value.split("\n");
  field.parentElement.classList.toggle("numbered", lines.length <= MOST);
  if (lines.length > MOST) return;
  const wrong = Number(field.dataset.line || 0);
  ruler.replaceChildren(
    ...lines.map((line, at) => {
      const part = document.createElement("span");
      part.textContent = line || "\u200b";
      if (at + 1 === wrong) part.className = "wrong";
      return part;
    }),
  );
}

function insert(text) {
  // Not by setting the value: what the browser types can be taken back with Ctrl+Z.
  field.focus();
  if (!document.execCommand("insertText", false, text)) field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
  draw();
}

function insertTerm(name, prefix, iri) {
  const declared = new RegExp(`^\\s*PREFIX\\s+${prefix}:`, "im").test(field.value);
  const before = field.value.slice(0, field.selectionStart);
  insert((before && !/[\s(^/|!]$/.test(before) ? " " : "") + name);
  if (declared) return;
  const caret = field.selectionStart;
  const line = `PREFIX ${prefix}: <${iri}>\n`;
  field.setSelectionRange(0, 0);
  insert(line);
  field.setSelectionRange(caret + line.length, caret + line.length);
}

function offer(list) {
  for (const name of list.querySelectorAll("dt")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "link";
    button.title = name.title;
    button.textContent = name.textContent;
    button.setAttribute("aria-label", `Insert ${name.textContent}`);
    button.addEventListener("click", () => insertTerm(button.textContent, list.dataset.prefix, list.dataset.iri));
    name.removeAttribute("title");
    name.replaceChildren(button);
  }
}

let leaving = false;
field.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    form.requestSubmit();
  } else if (event.key === "Escape") {
    leaving = true;
  } else if (event.key === "Tab" && !event.shiftKey && !leaving) {
    event.preventDefault();
    insert("  ");
  } else if (event.key !== "Shift") {
    leaving = false;
  }
});
field.addEventListener("blur", () => { leaving = false; });
field.addEventListener("input", () => {
  delete field.dataset.line;
  field.removeAttribute("aria-invalid");
  draw();
});

// A query that takes its time says so, and can be given up.
const run = form.querySelector("button.main");
const stop = document.createElement("button");
stop.type = "button";
stop.className = "btn";
stop.textContent = "Stop waiting";
let slow = 0;
function settle() {
  clearTimeout(slow);
  stop.remove();
  form.removeAttribute("aria-busy");
}
form.addEventListener("submit", () => {
  form.setAttribute("aria-busy", "true");
  document.getElementById("said").textContent = "Running";
  slow = setTimeout(() => run.after(stop), 2000);
});
stop.addEventListener("click", () => {
  window.stop();
  settle();
  document.getElementById("said").textContent = "Stopped waiting";
  run.focus();
});
addEventListener("pageshow", settle);

for (const hint of form.querySelectorAll("[data-scripted]")) hint.hidden = false;
for (const list of document.querySelectorAll(".vocabulary dl")) offer(list);
field.before(ruler);
draw();
// Folded away, the lines have no heights.
document.getElementById("sparql").addEventListener("toggle", draw);
if (field.dataset.line) {
  const before = field.value.split("\n").slice(0, field.dataset.line - 1).join("\n").length;
  const at = before + (field.dataset.line > 1 ? 1 : 0) + Number(field.dataset.column) - 1;
  field.setSelectionRange(at, at);
}

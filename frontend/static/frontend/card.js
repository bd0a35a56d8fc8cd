// The card is checked half a second after the last key; a click on a finding goes to its line.

const WAIT = 500;
const form = document.querySelector("form[data-card]");
const box = form?.querySelector('textarea[name="card"]');
let asked = 0;
let timer;

const list = () => document.querySelector("#card-findings .findings");
const many = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

function item(finding) {
  const row = document.querySelector(`#card-findings template[data-${finding.severity}]`).content.firstElementChild.cloneNode(true);
  const place = row.querySelector("a");
  place.href = "#text";
  place.textContent = finding.line ? `Line ${finding.line}` : "The card";
  if (finding.line) place.dataset.line = finding.line;
  const code = row.querySelector("code");
  if (finding.field) code.textContent = finding.field;
  else code.remove();
  row.querySelector("span:not(.glyph):not(.sr)").textContent = finding.message;
  row.querySelector("b").textContent = finding.cure;
  return row;
}

function show({ findings, ok }) {
  const errors = findings.filter((one) => one.severity === "error").length;
  const sum = findings.length
    ? `${many(errors, "error")}, ${many(findings.length - errors, "warning")}${errors ? ": fix the errors to save the card" : ""}.`
    : "No problems found.";
  const place = document.querySelector("#card-findings [data-sum]");
  list().replaceChildren(...findings.map(item));
  list().hidden = !findings.length;
  box.setAttribute("aria-invalid", String(!ok));
  if (place.textContent.trim() === sum) return;
  place.textContent = sum;
  document.getElementById("said").textContent = sum;
}

async function check() {
  const turn = ++asked;
  const answer = await fetch(form.dataset.check, {
    method: "POST",
    headers: { "Content-Type": "text/markdown", "X-CSRFToken": form.csrfmiddlewaretoken.value },
    body: box.value,
  });
  if (!answer.ok) return;
  const said = await answer.json();
  if (turn === asked) show(said);
}

// The height of the lines above says how far to scroll; long lines are wrapped by the box itself,
// so a copy of it with the text up to there is measured.
function go(line) {
  const lines = box.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  const copy = box.cloneNode();
  copy.removeAttribute("id");
  copy.removeAttribute("name");
  copy.rows = 1;
  copy.className = "measure";
  copy.value = box.value.slice(0, start);
  copy.setAttribute("aria-hidden", "true");
  copy.tabIndex = -1;
  box.after(copy);
  const above = copy.scrollHeight;
  copy.remove();
  box.focus();
  box.setSelectionRange(start, start + (lines[line - 1] ?? "").length);
  box.scrollTop = Math.max(0, above - box.clientHeight / 2);
}

if (box) {
  box.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => check().catch(() => {}), WAIT);
  });
  addEventListener("click", (event) => {
    const place = event.target.closest?.("#card-findings a[data-line]");
    if (!place) return;
    event.preventDefault();
    go(Number(place.dataset.line));
  });
}

// In the form a click on a finding opens the group that its field is in.
if (form && !box) {
  addEventListener("click", (event) => {
    const place = event.target.closest?.('#card-findings a[href^="#"]');
    const target = place && document.getElementById(place.getAttribute("href").slice(1));
    if (!target) return;
    event.preventDefault();
    target.closest("details")?.setAttribute("open", "");
    target.focus();
  });
}

// A page that follows what it shows: asks whether its mark has changed, less often the longer nothing
// does, never while hidden, and not once it is final. What changed is replaced part by part; a part in
// which somebody writes stays until they have left it.

const root = document.querySelector("[data-watch]");
const said = document.getElementById("said");
let { mark } = root.dataset;
let calm = Date.now();

const pause = () => {
  const quiet = Date.now() - calm;
  return quiet < 60_000 ? 2000 : quiet < 600_000 ? 10_000 : 60_000;
};
const visible = () => document.hidden && new Promise((done) => document.addEventListener("visibilitychange", done, { once: true }));
const writing = (part) => part.contains(document.activeElement) && document.activeElement.matches("input, textarea, select");

// Tokens of forms differ each time; they are no change.
const text = (part) => part.outerHTML.replace(/name="csrfmiddlewaretoken" value="[^"]*"/g, "");
const seen = new Map();
const parts = () => [...document.querySelectorAll("[data-live-part]")];
for (const part of parts()) seen.set(part.id, text(part));

// Whether every part could be replaced.
function replace(fresh) {
  let whole = true;
  for (const part of parts()) {
    const next = fresh.getElementById(part.id);
    if (!next || text(next) === seen.get(part.id)) continue;
    if (writing(part)) { whole = false; continue; }
    const focused = part.contains(document.activeElement) && document.activeElement;
    const at = focused && [...part.querySelectorAll("a, button, summary")].indexOf(focused);
    const text_ = text(next);
    const open = [...part.querySelectorAll("details[open] > summary")].map((one) => one.textContent.trim().split("\n")[0]);
    for (const one of next.querySelectorAll("details > summary")) one.parentElement.open ||= open.includes(one.textContent.trim().split("\n")[0]);
    part.replaceWith(next);
    seen.set(next.id, text_);
    if (focused) (focused.id ? document.getElementById(focused.id) : next.querySelectorAll("a, button, summary")[at])?.focus();
  }
  return whole;
}

async function refresh() {
  const answer = await fetch(root.dataset.page ?? location.href, { headers: { Accept: "text/html" } });
  if (!answer.ok) return false;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  const next = fresh.querySelector("[data-watch]");
  document.title = fresh.title;
  const { message } = next?.dataset ?? {};
  if (message && message !== root.dataset.message) said.textContent = root.dataset.message = message;
  return replace(fresh);
}

async function look() {
  const answer = await fetch(root.dataset.watch, { headers: { "If-None-Match": mark }, cache: "no-store" });
  if (answer.status === 304) return false;
  // Nobody may see it any more, or it is gone.
  if ([401, 403, 404, 410].includes(answer.status)) return true;
  if (!answer.ok) return false;
  const { over } = await answer.json();
  if (!(await refresh())) return false;
  mark = answer.headers.get("ETag");
  calm = Date.now();
  return over;
}

for (const plain of document.querySelectorAll("[data-plain]")) plain.hidden = true;
for (let over = false; !over;) {
  await new Promise((done) => setTimeout(done, pause()));
  await visible();
  over = await look().catch(() => false);
}

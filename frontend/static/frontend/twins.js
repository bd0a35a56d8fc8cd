// Two graphs side by side: a node chosen in a list or in one drawing is shown in both, by its first
// output.

const poster = document.getElementById("poster");
const said = document.getElementById("said");
const rows = [...document.querySelectorAll("tr[data-output]")];
const BEFORE = 0, AFTER = 1;
let pairs;
let shown;

const frames = () => [...poster.querySelectorAll("iframe")];

// Of each side, the outputs that the other side calls otherwise or lacks.
async function known() {
  if (pairs) return pairs;
  const answer = await fetch(poster.dataset.report);
  if (!answer.ok) throw new Error(`HTTP status ${answer.status}`);
  const facts = (await answer.json()).report?.facts ?? {};
  const told = Array.isArray(facts.outputs) ? facts.outputs : [];
  pairs = [new Map(told), new Map(told.map(([was, now]) => [now, was]))];
  const alone = [[facts.removed, BEFORE], [facts.added, AFTER]];
  for (const [list, side] of alone) {
    for (const row of list ?? []) if (!row.path && row.out) pairs[side].set(row.out[0][0], null);
  }
  return pairs;
}

function send(frame, side) {
  if (shown) frame.contentWindow.postMessage({ show: shown[side] }, location.origin);
}

async function choose(output, side, from) {
  const [before, after] = await known();
  const other = side === BEFORE ? before : after;
  const counterpart = other.has(output) ? other.get(output) : output;
  shown = side === BEFORE ? [output, counterpart] : [counterpart, output];
  frames().forEach((frame, at) => { if (frame !== from) send(frame, at); });
  for (const row of rows) {
    const on = row.dataset.output === shown[row.dataset.side === "before" ? BEFORE : AFTER];
    row.classList.toggle("chosen", on);
    row.querySelector("button")?.setAttribute("aria-pressed", String(on));
  }
  said.textContent = counterpart === null ? `${output}: on this side only` : `${output}: shown on both sides`;
}

// Where the graphs cannot be opened, there is nothing to show a node in.
for (const row of poster.querySelector("button.btn, [data-frame]") ? rows : []) {
  const button = document.createElement("button");
  button.className = "btn show";
  button.textContent = "Show";
  button.setAttribute("aria-label", `Show in the graphs: ${row.dataset.output}`);
  button.setAttribute("aria-pressed", "false");
  button.addEventListener("click", () => {
    if (!frames().length) poster.querySelector("button").click();
    choose(row.dataset.output, row.dataset.side === "before" ? BEFORE : AFTER).catch((error) => { said.textContent = `Cannot be shown: ${error.message}`; });
    poster.scrollIntoView({ block: "nearest" });
  });
  row.cells[0].append(button);
}

new MutationObserver(() => {
  frames().forEach((frame, side) => {
    if (frame.dataset.linked) return;
    frame.dataset.linked = "";
    frame.addEventListener("load", () => send(frame, side));
    frame.addEventListener("choose", ({ detail }) => choose(detail, side, frame));
  });
}).observe(poster, { childList: true });

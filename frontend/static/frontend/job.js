// A running job's page is told how it goes as the hub's events come. Where they do not, it asks: every
// 2 s, every 10 s after a minute. Never while hidden, and not once the job has ended.

const place = () => document.getElementById("job");
const started = Date.now();
// How far the hub's clock is ahead of this one: elapsed time is counted from the hub's.
const ahead = Date.parse(document.getElementById("clock").dataset.now) - started;
let quarter = 0;

function count() {
  for (const part of document.querySelectorAll("time[data-since]")) {
    const seconds = Math.max(0, Math.round((Date.now() + ahead - Date.parse(part.dateTime)) / 1000));
    const told = seconds < 90 ? `${seconds}\u202fs` : `${Math.floor(seconds / 60)}\u202fmin`;
    part.textContent = told + part.dataset.since;
  }
}

function announce(job) {
  const at = Math.floor(Number(job.dataset.progress) / 25);
  const said = document.getElementById("said");
  if (job.dataset.ended) said.textContent = `The job ${job.dataset.state}`;
  else if (at !== quarter) said.textContent = `${25 * at} %`;
  quarter = at;
}

function show(text) {
  const holder = document.createElement("template");
  holder.innerHTML = text;
  const fresh = holder.content.getElementById("job");
  if (fresh.outerHTML === place().dataset.seen) return;
  const focused = place().contains(document.activeElement) && document.activeElement.id;
  const seen = fresh.outerHTML;
  place().replaceWith(fresh);
  fresh.dataset.seen = seen;
  if (focused) document.getElementById(focused)?.focus();
  document.title = fresh.dataset.title;
  for (const part of document.querySelectorAll("[data-live]")) part.hidden = Boolean(fresh.dataset.ended);
  announce(fresh);
  count();
}

async function look() {
  const answer = await fetch(place().dataset.url, { cache: "no-cache" });
  if (answer.ok) show(await answer.text());
}

async function watch() {
  while (!place().dataset.ended) {
    await new Promise((done) => setTimeout(done, Date.now() - started < 60_000 ? 2000 : 10_000));
    if (!document.hidden) await look().catch(() => {});
    count();
  }
}

// The hub sends what changes; where it has no room, or the line does not hold, the page asks.
function listen() {
  const source = new EventSource(place().dataset.events);
  let failures = 0;
  let asking = false;
  const heard = (event) => {
    failures = 0;
    show(event.data);
  };
  source.addEventListener("change", heard);
  source.addEventListener("end", (event) => {
    source.close();
    heard(event);
  });
  source.addEventListener("error", () => {
    failures += 1;
    if (asking || (source.readyState !== EventSource.CLOSED && failures < 3)) return;
    asking = true;
    source.close();
    watch();
  });
  document.addEventListener("visibilitychange", () => {
    if (asking || place().dataset.ended) return;
    source.close();
    if (!document.hidden) listen();
  }, { once: true });
}

for (const part of document.querySelectorAll("[data-plain]")) part.hidden = true;
setInterval(count, 1000);
count();
if ("EventSource" in window) listen();
else watch();

// A running job's page asks how it goes: every 2 s, every 10 s after a minute, never while hidden,
// and stops when the job has ended. An unchanged answer costs a 304.

const place = () => document.getElementById("job");
const started = Date.now();
let quarter = 0;

function count() {
  for (const part of document.querySelectorAll("time[data-since]")) {
    const seconds = Math.max(0, Math.round((Date.now() - Date.parse(part.dateTime)) / 1000));
    part.textContent = seconds < 90 ? `${seconds}\u202fs` : `${Math.floor(seconds / 60)}\u202fmin`;
  }
}

function announce(job) {
  const at = Math.floor(Number(job.dataset.progress) / 25);
  const said = document.getElementById("said");
  if (job.dataset.ended) said.textContent = `The job ${job.dataset.state}`;
  else if (at !== quarter) said.textContent = `${25 * at} %`;
  quarter = at;
}

async function look() {
  const answer = await fetch(place().dataset.url, { cache: "no-cache" });
  if (!answer.ok) return;
  const holder = document.createElement("template");
  holder.innerHTML = await answer.text();
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
}

async function watch() {
  while (!place().dataset.ended) {
    await new Promise((done) => setTimeout(done, Date.now() - started < 60_000 ? 2000 : 10_000));
    if (!document.hidden) await look().catch(() => {});
    count();
  }
}

for (const part of document.querySelectorAll("[data-plain]")) part.hidden = true;
setInterval(count, 1000);
count();
watch();

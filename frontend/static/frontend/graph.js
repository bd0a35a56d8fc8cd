// Opens the viewer in a frame on the reader's click, or two of them side by side, and closes them
// again; the page stays where it is. A graph that is being drawn is asked for until its job has ended.

const links = [...document.querySelectorAll("[data-frame]")];

function start() {
  const [first] = links;
  const poster = document.getElementById("poster");
  const words = poster.dataset.open ?? first.textContent;
  const button = document.createElement("button");
  button.className = first.className;
  button.textContent = words;
  button.setAttribute("aria-expanded", "false");
  first.replaceWith(button);
  for (const link of links) link.remove();
  let frames = [];

  function close() {
    for (const frame of frames) frame.remove();
    frames = [];
    button.textContent = words;
    button.setAttribute("aria-expanded", "false");
  }
  function open() {
    frames = links.map((link) => {
      const frame = document.createElement("iframe");
      frame.title = link.dataset.frame;
      frame.src = link.href;
      // From inside: Escape where the viewer has nothing open.
      frame.addEventListener("leave", () => {
        close();
        button.focus();
      });
      return frame;
    });
    poster.append(...frames);
    button.textContent = poster.dataset.close ?? "Close graph";
    button.setAttribute("aria-expanded", "true");
  }
  button.addEventListener("click", () => (frames.length ? close() : open()));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && frames.length) {
      close();
      button.focus({ preventScroll: true });
    }
  });
}

async function watch(waiting) {
  for (;;) {
    await new Promise((done) => setTimeout(done, 2000));
    if (document.hidden) continue;
    const answer = await fetch(waiting.dataset.job, { cache: "no-cache" }).catch(() => undefined);
    if (answer?.ok && (await answer.text()).includes("data-ended")) return location.reload();
  }
}

if (links.length) start();
const waiting = document.querySelector("[data-job]");
for (const part of document.querySelectorAll("[data-job] ~ [data-plain]")) part.hidden = true;
if (waiting) watch(waiting);

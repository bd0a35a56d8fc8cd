// Opens the viewer in a frame on the reader's click, and closes it again; the page stays where it
// is. A graph that is being drawn is asked for until its job has ended.

const link = document.querySelector("[data-frame]");

function start() {
  const button = document.createElement("button");
  button.className = link.className;
  button.textContent = link.textContent;
  button.setAttribute("aria-expanded", "false");
  link.replaceWith(button);
  let frame;

  function close() {
    frame?.remove();
    frame = undefined;
    button.textContent = link.textContent;
    button.setAttribute("aria-expanded", "false");
  }
  function open() {
    frame = document.createElement("iframe");
    frame.title = link.dataset.frame;
    frame.src = link.href;
    // From inside: Escape where the viewer has nothing open.
    frame.addEventListener("leave", () => {
      close();
      button.focus();
    });
    document.getElementById("poster").append(frame);
    button.textContent = "Close the graph";
    button.setAttribute("aria-expanded", "true");
  }
  button.addEventListener("click", () => (frame ? close() : open()));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && frame) {
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

if (link) start();
const waiting = document.querySelector("[data-job]");
for (const part of document.querySelectorAll("[data-job] ~ [data-plain]")) part.hidden = true;
if (waiting) watch(waiting);

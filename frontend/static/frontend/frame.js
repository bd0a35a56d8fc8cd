// Runs in the viewer's frame before the viewer: focus stays where the reader left it, nothing
// scrolls the page around, Escape leads out where the viewer has nothing of its own to close, and
// its files are asked for by their names alone, so that the second time costs a 304.

const { focus } = HTMLElement.prototype;

HTMLElement.prototype.focus = function quietly() {
  if (window.parent === window || document.hasFocus()) focus.call(this, { preventScroll: true });
};

const { open } = XMLHttpRequest.prototype;

XMLHttpRequest.prototype.open = function plainly(method, url, ...others) {
  open.call(this, method, String(url).replace(/[?&]cb=\d+$/, ""), ...others);
};

window.addEventListener(
  "keydown",
  (event) => {
    const busy = document.querySelector(".sidebar")?.style.opacity === "1";
    if (event.key !== "Escape" || busy || !window.frameElement) return;
    window.frameElement.dispatchEvent(new window.parent.Event("leave"));
  },
  true,
);

// A page with two drawings links them: it is told which node was chosen here, and says which one
// to show, each by its first output.

const outputOf = (node) => node.outputs?.find((one) => one.value?.[0]?.name)?.value[0].name;

function show(output, tries = 0) {
  const target = window.__view__?.target;
  if (!target?.target) {
    if (tries < 600) setTimeout(() => show(output, tries + 1), 100);
    return;
  }
  const node = target.target.nodes.find((one) => outputOf(one) === output);
  if (output === null || !node) target.select(null);
  else target.scrollTo(target.select([node]));
}

window.addEventListener("message", ({ data, origin, source }) => {
  if (origin === location.origin && source === window.parent && data?.show !== undefined) show(data.show);
});

window.addEventListener("click", () => {
  const before = [...(window.__view__?.target?.selection ?? [])][0];
  setTimeout(() => {
    const [chosen] = window.__view__?.target?.selection ?? [];
    const output = chosen && chosen !== before && chosen.value ? outputOf(chosen.value) : undefined;
    if (!output || !window.frameElement) return;
    const heard = new window.parent.CustomEvent("choose", { detail: output });
    window.frameElement.dispatchEvent(heard);
  });
}, true);

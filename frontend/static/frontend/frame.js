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

// Choosing a version or a variant goes there at once; the button is for readers without scripts.
// Arrow keys only move inside the closed list, so that nobody is carried away on the way to a later
// one.

for (const select of document.querySelectorAll("select[data-go]")) {
  let keyed = false;
  for (const button of select.form.querySelectorAll("[data-plain]")) button.hidden = true;
  select.addEventListener("keydown", (event) => {
    keyed = event.key.startsWith("Arrow");
    if (event.key === "Enter") select.form.requestSubmit();
  });
  select.addEventListener("change", () => {
    if (!keyed) select.form.requestSubmit();
    keyed = false;
  });
}

// On a narrow screen the tabs scroll sideways; the current one is brought into sight.
const tab = document.querySelector(".tabs [aria-current]");
const strip = tab?.parentElement;
if (strip) strip.scrollLeft = tab.offsetLeft + tab.offsetWidth - strip.clientWidth;

// Copies to the clipboard; where that refuses, the text is selected. A button without a text of its
// own copies the code beside it.

const reveal = () => document.querySelectorAll("[data-copy][hidden]").forEach((button) => { button.hidden = false; });

addEventListener("click", async ({ target }) => {
  const button = target.closest?.("[data-copy]");
  if (!button) return;
  const said = document.getElementById("said");
  const beside = button.parentElement.querySelector("code") || button.parentElement;
  try {
    await navigator.clipboard.writeText(button.dataset.copy || beside.textContent);
    said.textContent = "Copied";
    button.classList.add("done");
    setTimeout(() => button.classList.remove("done"), 1500);
  } catch {
    getSelection().selectAllChildren(beside);
    said.textContent = "Selected; copy it with the keyboard";
  }
});

new MutationObserver(reveal).observe(document.body, { childList: true, subtree: true });
reveal();

// The language of code that a reader chose is kept.
for (const use of document.querySelectorAll('[name="use"]')) {
  use.checked ||= use.value === localStorage.use;
  use.onchange = () => { localStorage.use = use.value; };
}

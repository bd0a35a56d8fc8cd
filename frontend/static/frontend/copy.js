// Copy buttons: shown where scripts run, "Copied" is said aloud, and where the clipboard refuses
// the text is selected instead.

function reveal(root) {
  for (const button of root.querySelectorAll("[data-copy][hidden]")) button.hidden = false;
}

function select(button) {
  const text = button.parentElement.querySelector("code") || button.parentElement;
  getSelection().selectAllChildren(text);
}

addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-copy]");
  if (!button) return;
  const said = document.getElementById("said");
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    said.textContent = "Copied";
    button.classList.add("done");
    setTimeout(() => button.classList.remove("done"), 1500);
  } catch {
    select(button);
    said.textContent = "Selected; copy it with the keyboard";
  }
});

new MutationObserver(() => reveal(document)).observe(document.body, { childList: true, subtree: true });
reveal(document);

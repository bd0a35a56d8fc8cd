// Sends the form of a page that only passes something on.
document.querySelector("form[data-send]")?.submit();

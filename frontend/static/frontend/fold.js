// Runs where it stands, before what it folds is painted: nothing moves.
if (matchMedia("(width < 56rem)").matches) document.currentScript.closest("[data-fold]").removeAttribute("open");

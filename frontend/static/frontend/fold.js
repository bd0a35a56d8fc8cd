if (matchMedia("(width < 56rem)").matches) document.querySelector("[data-fold]")?.removeAttribute("open");

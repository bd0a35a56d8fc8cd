// Conditions of a question: a property brings the field of its values, and rows are added and
// emptied without a request.

const form = document.querySelector(".builder");
const rows = form.querySelector(".conditions");
const add = form.querySelector("[data-add]");
const MOST = 12;

// A row without a property keeps its place among the values.
function empty() {
  const field = document.createElement("input");
  field.type = "hidden";
  field.name = "value";
  return field;
}

function number(row, at) {
  row.setAttribute("aria-label", `Condition ${at}`);
  row.querySelector("[name=condition]").setAttribute("aria-label", `Property of condition ${at}`);
}

rows.addEventListener("change", ({ target }) => {
  if (target.name !== "condition") return;
  const row = target.closest(".condition");
  row.querySelector("[role=alert]")?.remove();
  const field = form.querySelector(`template[data-property="${CSS.escape(target.value)}"]`);
  row.querySelector(".value").replaceChildren(field ? field.content.cloneNode(true) : empty());
  row.querySelector(".value :is(select, input:not([type=hidden]))")?.focus();
});

add.hidden = false;
add.addEventListener("click", () => {
  const last = rows.lastElementChild;
  const row = last.cloneNode(true);
  row.querySelector("[role=alert]")?.remove();
  row.querySelector("[name=condition]").selectedIndex = 0;
  row.querySelector(".value").replaceChildren(empty());
  rows.append(row);
  number(row, rows.children.length);
  row.querySelector("[name=condition]").focus();
  add.hidden = rows.children.length >= MOST;
});

// The answer of a run on the page: bars, labels, pictures, tables, and how it compares with others.

const NARROW = "\u202f";
const MOST_BARS = 5;

export function make(tag, words = "", more = {}) {
  const made = Object.assign(document.createElement(tag), more);
  if (words !== "") made.textContent = words;
  return made;
}

function drawn(tag, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

export function figure(value) {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (value === 0) return "0";
  const text = size >= 1e-3 && size < 1e5 ? String(Number(value.toPrecision(5))) : value.toExponential(1);
  return text.replace("-", "\u2212").replace("e+", "e").replace("e-", "e\u2212");
}

export function span(milliseconds) {
  return milliseconds < 0.1 ? `${figure(Number((1000 * milliseconds).toPrecision(3)))}${NARROW}µs` : milliseconds < 1000 ? `${figure(Number(milliseconds.toPrecision(3)))}${NARROW}ms` : `${figure(Number((milliseconds / 1000).toPrecision(3)))}${NARROW}s`;
}

const part = (name) => document.querySelector(`#try [data-part="${name}"]`);
const said = document.getElementById("said");
let spec, tools, shows, readings;

export function begin(...all) {
  [spec, tools, shows, readings] = all;
  readings?.begin({ make, drawn, figure, tools });
}

const rowsOf = (tensor, labels) => {
  const size = tensor.data.length;
  const scores = tensor.type.startsWith("float") && size > 1 && size <= 30000 && tensor.shape.filter((one) => one > 1).length === 1;
  const places = Array.from({ length: size }, (_, at) => at);
  if (scores) places.sort((a, b) => tools.number(tensor, b) - tools.number(tensor, a));
  return places.slice(0, 10).map((at) => [at, labels.length === size ? labels[at] : `${at}`]);
};

const grouped = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, NARROW);

// The whole tensor as an array file; its address lasts as long as the page.
const kept = new Map();
function download(tensor) {
  if (!kept.has(tensor)) kept.set(tensor, URL.createObjectURL(tools.toNpy(tensor)));
  return make("a", "all values (.npy)", { href: kept.get(tensor), download: `${tensor.name.replace(/[^\w.-]+/g, "_") || "output"}.npy` });
}

function pictured({ canvas, words }) {
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", words);
  const figure = make("figure", "", { className: "body output" });
  figure.append(canvas, make("figcaption", words, { className: "small muted" }));
  return figure;
}

// Which preprocessing the answer belongs to, and who said each step.
export function showChoices(given) {
  const lines = given.filter((one) => one.chosen).flatMap((one) => {
    const origins = [...new Set(one.chosen.map((step) => step.from))];
    return origins.map((from) => `${{ "your choice": "Your choice", detection: "Detected" }[from] ?? `From ${from}`}: ${one.chosen.filter((step) => step.from === from).map((step) => `${step.title.toLowerCase()} ${step.words}`).join(", ")}.`);
  });
  part("by").textContent = lines.length ? `Preprocessing. ${lines.join(" ")}` : "";
}

// Why an input is unlike what the model was made for, in words: values outside of the declared range,
// or a mean far from those of the publisher's examples. Empty where it is not, or not known.
const LEAST_EXAMPLES = 3;
export function unlike(given, examples) {
  for (const one of given) {
    if (one.type === "string" || one.path || !one.data.length) continue;
    const input = spec.inputs.find(({ name }) => name === one.name);
    const { least, most, mean } = tools.figures(one);
    if (least === undefined) continue;
    const [low, high] = input.range ?? [-Infinity, Infinity];
    const slack = 0.01 * (high - low || 1);
    if (least < low - slack || most > high + slack) return `${one.name} has values from ${figure(least)} to ${figure(most)}; the card declares ${figure(low)} to ${figure(high)}.`;
    const means = examples.map((example) => example.inputs.get(input.index)).filter((tensor) => tensor?.data && tensor.type === one.type).map((tensor) => tools.figures(tensor).mean).filter(Number.isFinite);
    if (means.length < LEAST_EXAMPLES) continue;
    const [from, to] = [Math.min(...means), Math.max(...means)];
    const away = Math.max(2 * (to - from), 0.05 * Math.abs(to));
    if (mean < from - away || mean > to + away) return `The mean of ${one.name} is ${figure(Number(mean.toPrecision(3)))}; in the ${means.length} examples of the publisher it is ${figure(Number(from.toPrecision(3)))} to ${figure(Number(to.toPrecision(3)))}.`;
  }
  return "";
}

const shownAt = (tensor, at) => (tensor.type === "string" ? tensor.data[at] : figure(tools.number(tensor, at)));

export function showAnswers({ here, server, given, example, took, characters }) {
  const holder = part("answers");
  holder.replaceChildren();
  const known = new Set((here ?? []).map((tensor) => tensor.name));
  const rest = (server ?? []).filter((tensor) => !known.has(tensor.name));
  for (const [tensor, local] of [...(here ?? []).map((one) => [one, true]), ...rest.map((one) => [one, false])]) {
    const other = local ? server?.find((one) => one.name === tensor.name) : undefined;
    const table = make("table", "", { className: "table" });
    const labelled = spec.labels.length === tensor.data.length;
    const caption = make("caption");
    const whole = tensor.data.length;
    caption.append(make("b", tensor.name), ` ${tensor.type}[${tensor.shape.join(", ")}]${whole > 10 ? `, ${rowsOf(tensor, spec.labels).some(([at], place) => at !== place) ? "the 10 largest" : "the first 10"} of ${grouped(whole)} values` : `, ${whole} value${whole === 1 ? "" : "s"}`}`);
    if (tensor.type !== "string") caption.append(" ", download(tensor));
    const head = make("tr");
    const columns = [labelled ? "Label" : "Index", ...(local ? ["This browser"] : ["Server"]), ...(other ? ["Server", "Difference"] : [])];
    columns.forEach((words, at) => head.append(make("th", words, { scope: "col", className: at ? "num" : "" })));
    const body = make("tbody");
    for (const [at, label] of rowsOf(tensor, spec.labels)) {
      const row = make("tr");
      row.append(make("th", label, { scope: "row" }), make("td", shownAt(tensor, at), { className: "num" }));
      if (other) {
        const gap = tensor.type === "string" ? (tensor.data[at] === other.data[at] ? "0" : "different text") : figure(Math.abs(tools.number(tensor, at) - tools.number(other, at)));
        row.append(make("td", shownAt(other, at), { className: "num" }), make("td", gap, { className: "num" }));
      }
      body.append(row);
    }
    const top = make("thead");
    top.append(head);
    table.append(caption, top, body);
    const scroll = make("div", "", { className: "scroll", tabIndex: 0 });
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", `Table of the output ${tensor.name}`);
    scroll.append(table);
    holder.append(scroll);
  }
  showFirst(here ?? server, given, took, characters);
  compare(here ?? server, example);
  part("before").hidden = true;
  part("answer").hidden = false;
}

const percent = (share) => `${(100 * share).toFixed(1)}${NARROW}%`;

// The classes of an output: those that the card names for it, else the labels of the version.
const namesOf = (tensor) => spec.outputs.find((one) => one.name === tensor.name)?.reading?.names ?? spec.labels;

// The scores of one row as labelled bars; `how` says what stands beside them.
function bars(tensor) {
  const size = tensor.data.length;
  const wide = tensor.shape.filter((one) => one > 1);
  if (!tensor.type.startsWith("float") || size < 2 || size > 30000 || wide.length !== 1) return undefined;
  const classes = namesOf(tensor).length === size || /classification/.test(spec.task);
  if (!classes) return undefined;
  let values = Array.from({ length: size }, (_, at) => tools.number(tensor, at));
  if (!values.every(Number.isFinite)) return undefined;
  const sum = values.reduce((all, one) => all + one, 0);
  const shares = Math.min(...values) >= 0 && Math.abs(sum - 1) < 0.01;
  if (!shares) {
    const most = Math.max(...values);
    const powers = values.map((value) => Math.exp(value - most));
    const all = powers.reduce((total, one) => total + one, 0);
    values = powers.map((value) => value / all);
  }
  const list = make("ol", "", { className: "bars" });
  for (const [at, label] of rowsOf(tensor, namesOf(tensor)).slice(0, MOST_BARS)) {
    const row = make("li");
    const bar = drawn("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false" });
    bar.append(drawn("rect", { width: Math.max(1, 100 * values[at]).toFixed(2), height: 10 }));
    row.append(make("b", label), bar, make("span", percent(values[at]), { className: "num" }));
    list.append(row);
  }
  return { list, how: shares ? "" : `Softmax of the scores in ${tensor.name}; the model returns the scores themselves.` };
}

// The answer that is stored with an example, in a word; empty where it is no class.
export function labelOf(example) {
  for (const [index, tensor] of example.outputs) {
    const value = tensor.data.length === 1 && /^(string|u?int)/.test(tensor.type) ? String(tensor.data[0]) : undefined;
    if (value !== undefined) return spec.labels[tensor.type === "string" ? -1 : Number(value)] ?? value;
    if (spec.labels.length && spec.labels.length === tensor.data.length) return rowsOf({ ...tensor, name: spec.outputs[index]?.name }, spec.labels)[0][1];
  }
  return "";
}

// The first thing that an answer says: a class, its scores, a picture; else the tables open.
function showFirst(outputs, given, took, characters) {
  const holder = part("bars");
  holder.replaceChildren();
  const context = { sound: given.find((one) => one.sound)?.sound, canvas: given.find((one) => one.canvas)?.canvas, outputs, labels: spec.labels, characters };
  const known = new Map(spec.outputs.map((output) => [output.name, output.reading]));
  for (const tensor of outputs) {
    const declared = known.get(tensor.name) && readings.show(tensor, known.get(tensor.name), context);
    if (declared) {
      holder.append(...declared);
      continue;
    }
    const one = tensor.data.length === 1 && /^(string|u?int)/.test(tensor.type);
    if (one) {
      const value = tensor.type === "string" ? tensor.data[0] : String(tensor.data[0]);
      const label = tensor.type !== "string" && /label|class/i.test(tensor.name) ? spec.labels[Number(value)] : undefined;
      const line = make("p", "", { className: "decided" });
      line.append(make("b", label ?? value), make("span", label && label !== value ? `${tensor.name} ${value}` : tensor.name, { className: "muted small" }));
      holder.append(line);
      continue;
    }
    const scores = bars(tensor);
    if (scores) holder.append(scores.list, ...(scores.how ? [make("p", scores.how, { className: "small muted" })] : []));
    const picture = spec.sees && !scores ? (/segmentation/.test(spec.task) ? shows.mask(tensor, tools.number, spec.labels) : undefined) ?? shows.draw(tensor, tools.number, figure) : undefined;
    if (picture) holder.append(pictured(picture));
  }
  const fold = part("answers").closest("details");
  if (!fold.dataset.touched) fold.open = !holder.children.length;
  if (took) holder.append(make("p", took, { className: "small muted", }));
}

// The answer that the publisher stored beside the example, and whether this one equals it.
function compare(outputs, example) {
  const line = part("expected");
  line.replaceChildren();
  if (!example?.outputs?.size) return;
  let worst = 0;
  const differing = [];
  let compared = 0;
  for (const [index, stored] of example.outputs) {
    const name = spec.outputs[index]?.name;
    const mine = outputs.find((one) => one.name === name);
    if (!mine) continue;
    compared += 1;
    const result = stored.type === "string" ? { agrees: String(stored.data) === String(mine.data), largest: 0 } : tools.apart(stored, mine, spec.profile);
    worst = Math.max(worst, result.largest ?? Infinity);
    if (!result.agrees) differing.push(name);
  }
  if (!compared) return;
  const words = differing.length
    ? `${differing.join(", ")} differs from the answer stored with the example (${example.title}), largest difference ${figure(worst)}.`
    : `Equals the answer stored with the example (${example.title}), largest difference ${figure(worst)} (tolerance ${spec.profile.name}).`;
  line.append(make("span", differing.length ? "differs" : "right", { className: `tag ${differing.length ? "fail" : "pass"}` }), ` ${words}`);
}

export function verdict({ here: joined, single, server }) {
  // The server ran the first call alone.
  const here = joined && (single ?? joined);
  const line = part("verdict");
  if (!here || !server) return;
  const all = here.map((tensor) => {
    const other = server.find((one) => one.name === tensor.name);
    if (!other) return { agrees: false, words: `the server returned no ${tensor.name}` };
    return tensor.type === "string" ? { agrees: String(tensor.data) === String(other.data), largest: 0 } : tools.apart(other, tensor, spec.profile);
  });
  const worst = all.reduce((most, one) => Math.max(most, one.largest ?? 0), 0);
  const bad = all.filter((one) => !one.agrees);
  const rule = `tolerance ${spec.profile.name}`;
  const call = single ? " in the first call" : "";
  const words = bad.length
    ? `Differs from the server${call}: ${bad[0].words ?? `${bad[0].outside ?? "some"} of ${bad[0].size ?? "its"} values exceed the tolerance`}, largest difference ${figure(worst)} (${rule}).`
    : `Same result as the server${call}, largest difference ${figure(worst)} (${rule}).`;
  line.replaceChildren(make("span", bad.length ? "differs" : "same", { className: `tag ${bad.length ? "fail" : "pass"}` }), ` ${words}`);
  said.textContent = words;
}

export function showTimes(times, first, { threads, loaded }) {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)];
  // Clocks of browsers are coarse: what they call nothing took less than 1 µs.
  const [low, high] = [Math.max(sorted[0], 1e-3), Math.max(sorted.at(-1), 1e-3)];
  const place = (raw) => across(Math.max(raw, 1e-3));
  const across = (value) => (high > low ? 2 + (96 * Math.log(value / low)) / Math.log(high / low) : 50).toFixed(2);
  const svg = drawn("svg", { class: "strip of-web", viewBox: "0 0 100 28", preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false" });
  svg.append(drawn("path", { class: "dots", d: times.map((value, index) => `M${place(value)} ${6 + (index % 5) * 4}h0`).join("") }), drawn("path", { class: "median", d: `M${place(at(0.5))} 2v24` }));
  const how = `WASM, ${threads} thread${threads === 1 ? "" : "s"}`;
  const line = make("p");
  line.append(make("b", `p50 ${span(at(0.5))}`), ` over ${times.length} runs in this browser, ${how}; from ${span(sorted[0])} to ${span(sorted.at(-1))}; first run ${span(first)}, loading ${span(loaded)}.`);
  const ends = make("p", "", { className: "row muted small ends" });
  ends.append(make("span", span(low)), make("span", span(high)));
  const every = make("details", "", { className: "fold" });
  every.append(make("summary", `All ${times.length} runs`), make("p", times.map((value) => span(value)).join(", "), { className: "small" }));
  part("times").replaceChildren(line, svg, ends, every);
  part("latency").hidden = false;
}

// What its reader may contribute: the times, and of the machine what stands in two fields.
export function offer(given, times, first, clock, { threads, loaded }) {
  const contribution = part("contribute");
  if (!contribution) return;
  const inputs = given.map(({ name, type, shape }) => ({ name, dtype: type, shape: [...shape] }));
  contribution.elements.told.value = JSON.stringify({ times_ms: times, first_ms: first, loading_ms: loaded, clock_ms: clock, threads, inputs });
  const agent = navigator.userAgent;
  const [, name, version] = agent.match(/(Firefox|Edg|Chrome)\/(\d+)/) ?? agent.match(/(?:(Version)\/(\d+)).*Safari/) ?? [];
  const known = { Edg: "Edge", Version: "Safari", Chrome: "Chromium" };
  contribution.elements.browser.value ||= name ? `${known[name] ?? name} ${version}` : "";
}


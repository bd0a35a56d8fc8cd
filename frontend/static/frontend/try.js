// Runs a model on this page: gathers the inputs, has a worker of the browser infer, asks the hub's
// worker for the same, and shows both with their difference.

const root = document.getElementById("try");
const spec = JSON.parse(root.dataset.model);
const form = root.querySelector("form");
const said = document.getElementById("said");
const NARROW = "\u202f";
let tools, feeds, shows, worker, ready, current;

const part = (name) => root.querySelector(`[data-part="${name}"]`);

function make(tag, words = "", more = {}) {
  const made = Object.assign(document.createElement(tag), more);
  if (words !== "") made.textContent = words;
  return made;
}

function drawn(tag, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

function figure(value) {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (value === 0) return "0";
  const text = size >= 1e-3 && size < 1e5 ? String(Number(value.toPrecision(5))) : value.toExponential(1);
  return text.replace("-", "\u2212").replace("e+", "e").replace("e-", "e\u2212");
}

function span(milliseconds) {
  return milliseconds < 0.1 ? `${figure(Number((1000 * milliseconds).toPrecision(3)))}${NARROW}µs` : milliseconds < 1000 ? `${figure(Number(milliseconds.toPrecision(3)))}${NARROW}ms` : `${figure(Number((milliseconds / 1000).toPrecision(3)))}${NARROW}s`;
}

function note(tone, title, words) {
  const shown = make("p", "", { className: `note ${tone}` });
  shown.append(make("b", title), ` ${words}`);
  part("notes").replaceChildren(...(title ? [shown] : []));
  if (title) said.textContent = `${title} ${words}`;
}

function progress(words, value, most) {
  const holder = part("progress");
  holder.hidden = !words;
  if (!words) return;
  holder.querySelector("span").textContent = words;
  const bar = holder.querySelector("progress");
  if (most) Object.assign(bar, { value, max: most });
  else bar.removeAttribute("value");
}

// --- the browser's worker -----------------------------------------------------------------------

function ask(message, heard) {
  return new Promise((done, fail) => {
    const listen = ({ data }) => {
      if (data.failed) { over(); fail(new Error(data.failed)); }
      else if (heard(data)) { over(); done(data); }
    };
    const broken = (event) => { over(); fail(new Error(event.message || "the browser could not start the runtime")); };
    const over = () => { worker.removeEventListener("message", listen); worker.removeEventListener("error", broken); };
    worker.addEventListener("message", listen);
    worker.addEventListener("error", broken);
    worker.postMessage(message);
  });
}

async function start() {
  if (ready) return ready;
  worker = new Worker(`${root.dataset.base}worker.js`, { type: "module" });
  const threads = crossOriginIsolated ? Math.min(4, navigator.hardwareConcurrency || 1) : 1;
  const files = JSON.parse(root.dataset.files);
  const most = files.reduce((all, file) => all + file.bytes, 0);
  progress("Loading the runtime", 0, 0);
  const answer = await ask({ load: { base: new URL(root.dataset.base, location).href, entry: root.dataset.entry, files, threads } }, (data) => {
    if (data.loading) progress(data.loading < most ? "Loading the model" : "Preparing the model", data.loading, data.loading < most ? most : 0);
    return data.loaded !== undefined;
  });
  ready = { threads, loaded: answer.loaded };
  return ready;
}

// --- inputs -------------------------------------------------------------------------------------

function chosen(holder) {
  const kind = holder.querySelector("[data-kind]").value;
  return [kind, holder.querySelector(`[data-way="${kind}"]`)];
}

function turn(holder) {
  const [kind] = chosen(holder);
  for (const way of holder.querySelectorAll("[data-way]")) way.hidden = way.dataset.way !== kind;
  feeds.tidy(holder);
}

async function gathered() {
  const found = [];
  for (const holder of root.querySelectorAll("[data-input]")) {
    const input = spec.inputs[Number(holder.dataset.input)];
    const [kind, way] = chosen(holder);
    try {
      found.push(await feeds.gather(input, kind, way, tools));
    } catch (error) {
      holder.querySelector("input:not([hidden]), textarea")?.focus();
      throw new Error(`${input.name}: ${error.message}.`);
    }
  }
  return found;
}

function showSteps(given) {
  const list = part("steps");
  list.replaceChildren();
  for (const one of given) {
    const steps = [...one.steps, tensorStep(one)];
    for (const step of steps) {
      const row = make("li");
      row.append(make("b", step.title), make("span", `${given.length > 1 ? `${one.name}: ` : ""}${step.words}`));
      if (step.canvas) {
        step.canvas.setAttribute("role", "img");
        step.canvas.setAttribute("aria-label", "The image as passed to the model");
        row.append(step.canvas);
      }
      list.append(row);
    }
  }
  part("made").hidden = false;
}

function tensorStep(one) {
  const head = `${one.type}[${one.shape.join(", ")}]`;
  if (one.type === "string") return { title: "Tensor", words: `${head}: ${one.data.slice(0, 3).join(" | ")}` };
  const { least, most, mean, finite } = tools.figures(one);
  const first = Array.from({ length: Math.min(6, one.data.length) }, (_, at) => figure(tools.number(one, at)));
  return { title: "Tensor", words: finite ? `${head}, from ${figure(least)} to ${figure(most)}, mean ${figure(mean)}; first ${first.join(", ")}` : head };
}

// --- answers ------------------------------------------------------------------------------------

const rowsOf = (tensor) => {
  const size = tensor.data.length;
  const scores = tensor.type.startsWith("float") && size > 1 && size <= 30000 && tensor.shape.filter((one) => one > 1).length === 1;
  const places = Array.from({ length: size }, (_, at) => at);
  if (scores) places.sort((a, b) => tools.number(tensor, b) - tools.number(tensor, a));
  return places.slice(0, 10).map((at) => [at, spec.labels.length === size ? spec.labels[at] : `${at}`]);
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
function showChoices(given) {
  const lines = given.filter((one) => one.chosen).flatMap((one) => {
    const origins = [...new Set(one.chosen.map((step) => step.from))];
    return origins.map((from) => `${from === "your choice" ? "Your choice" : `From ${from}`}: ${one.chosen.filter((step) => step.from === from).map((step) => `${step.title.toLowerCase()} ${step.words}`).join(", ")}.`);
  });
  part("by").textContent = lines.length ? `Preprocessing. ${lines.join(" ")}` : "";
}

const shownAt = (tensor, at) => (tensor.type === "string" ? tensor.data[at] : figure(tools.number(tensor, at)));

function showAnswers() {
  const { here, server } = current;
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
    caption.append(make("b", tensor.name), ` ${tensor.type}[${tensor.shape.join(", ")}]${whole > 10 ? `, ${rowsOf(tensor).some(([at], place) => at !== place) ? "the 10 largest" : "the first 10"} of ${grouped(whole)} values` : `, ${whole} value${whole === 1 ? "" : "s"}`}`);
    if (tensor.type !== "string") caption.append(" ", download(tensor));
    const head = make("tr");
    const columns = [labelled ? "Label" : "Index", ...(local ? ["This browser"] : ["Server"]), ...(other ? ["Server", "Difference"] : [])];
    columns.forEach((words, at) => head.append(make("th", words, { scope: "col", className: at ? "num" : "" })));
    const body = make("tbody");
    for (const [at, label] of rowsOf(tensor)) {
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
    const picture = spec.sees ? shows.draw(tensor, tools.number, figure) : undefined;
    if (picture) holder.append(pictured(picture));
    holder.append(scroll);
  }
  part("answer").hidden = false;
}

function verdict() {
  const { here, server } = current;
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
  const words = bad.length
    ? `Differs from the server: ${bad[0].words ?? `${bad[0].outside ?? "some"} of ${bad[0].size ?? "its"} values exceed the tolerance`}, largest difference ${figure(worst)} (${rule}).`
    : `Same result as the server, largest difference ${figure(worst)} (${rule}).`;
  line.replaceChildren(make("span", bad.length ? "differs" : "same", { className: `tag ${bad.length ? "fail" : "pass"}` }), ` ${words}`);
  said.textContent = words;
}

function showTimes(times, first) {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)];
  // Clocks of browsers are coarse: what they call nothing took less than 1 µs.
  const [low, high] = [Math.max(sorted[0], 1e-3), Math.max(sorted.at(-1), 1e-3)];
  const place = (raw) => across(Math.max(raw, 1e-3));
  const across = (value) => (high > low ? 2 + (96 * Math.log(value / low)) / Math.log(high / low) : 50).toFixed(2);
  const svg = drawn("svg", { class: "strip of-web", viewBox: "0 0 100 28", preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false" });
  svg.append(drawn("path", { class: "dots", d: times.map((value, index) => `M${place(value)} ${6 + (index % 5) * 4}h0`).join("") }), drawn("path", { class: "median", d: `M${place(at(0.5))} 2v24` }));
  const { threads, loaded } = ready;
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
function offer(given, times, first, clock) {
  const contribution = part("contribute");
  if (!contribution) return;
  const { threads, loaded } = ready;
  const inputs = given.map(({ name, type, shape }) => ({ name, dtype: type, shape: [...shape] }));
  contribution.elements.told.value = JSON.stringify({ times_ms: times, first_ms: first, loading_ms: loaded, clock_ms: clock, threads, inputs });
  const agent = navigator.userAgent;
  const [, name, version] = agent.match(/(Firefox|Edg|Chrome)\/(\d+)/) ?? agent.match(/(?:(Version)\/(\d+)).*Safari/) ?? [];
  const known = { Edg: "Edge", Version: "Safari", Chrome: "Chromium" };
  contribution.elements.browser.value ||= name ? `${known[name] ?? name} ${version}` : "";
}

// --- the hub's worker ---------------------------------------------------------------------------

async function onServer(given) {
  const body = new FormData();
  for (const name of ["csrfmiddlewaretoken", "variant"]) body.append(name, form.elements[name].value);
  given.forEach((one, at) => {
    if (one.type === "string") body.append(`json-${at}`, JSON.stringify(one.shape.length ? one.data : one.data[0]));
    else body.append(`file-${at}`, tools.toNpy(one), `${at}.npy`);
  });
  const asked = await fetch(form.action, { method: "POST", body, headers: { Accept: "application/json" } });
  const told = await asked.json().catch(() => ({}));
  if (!asked.ok) throw new Error(told.detail ?? `HTTP status ${asked.status}`);
  for (let tries = 0; ; tries += 1) {
    await new Promise((done) => setTimeout(done, tries < 20 ? 500 : 2000));
    const seen = await (await fetch(told.url)).json();
    part("server").textContent = seen.ended ? "" : `On the server: ${seen.state}${seen.waits ? `, ${seen.waits}` : ""}.`;
    if (!seen.ended) continue;
    if (seen.state !== "succeeded") throw new Error(seen.error || `the run was ${seen.state}`);
    part("server").textContent = `On the server: ${seen.facts.runtime} ${seen.facts.runtime_version}, 1 thread, one run, ${span(1000 * seen.facts.run_seconds)}.`;
    return Promise.all(seen.facts.outputs.map(async (output) => {
      if (!output.file) return { name: output.name, type: "string", shape: output.shape ?? [output.values?.length ?? 0], data: (output.values ?? []).map((value) => (typeof value === "object" ? JSON.stringify(value) : String(value))) };
      const answer = await fetch(`${told.url}/${output.file}`);
      if (!answer.ok) throw new Error(`the output ${output.name} could not be loaded`);
      return { name: output.name, ...tools.fromNpy(await answer.arrayBuffer()) };
    }));
  }
}

// --- together -----------------------------------------------------------------------------------

async function run({ browser, server }) {
  for (const name of ["answer", "latency", "made"]) part(name).hidden = true;
  note("", "", "");
  part("verdict").replaceChildren();
  part("server").textContent = "";
  current = {};
  const given = await gathered();
  showSteps(given);
  showChoices(given);
  const remote = server ? onServer(given).then((found) => { current.server = found; }, (error) => { note("part", "The run on the server failed.", `${error.message}`); }) : undefined;
  if (browser) {
    const fetches = spec.outputs.filter((output) => output.plain).map((output) => output.name);
    if (!fetches.length) throw new Error("The outputs are not plain tensors. Run on the server instead.");
    const left = spec.outputs.filter((output) => !output.plain).map((output) => output.name);
    if (left.length) note("part", "Partial result.", `The browser runtime returns tensors only. ${left.join(", ")} comes from the server.`);
    await start();
    progress("First run", 0, 0);
    const runs = Number(root.dataset.runs);
    let first;
    const timed = ask({ run: { feeds: given.map(({ name, type, shape, data }) => ({ name, type, shape, data })), fetches, runs } }, (data) => {
      if (data.outputs) { current.here = data.outputs; first = data.first; showAnswers(); }
      if (data.timed) progress(`Run ${data.timed} of ${runs}`, data.timed, runs);
      return Boolean(data.times);
    });
    const { times, clock } = await timed;
    showTimes(times, first);
    offer(given, times, first, clock);
  }
  progress(server ? "Waiting for the server" : "", 0, 0);
  await remote;
  if (current.server || current.here) showAnswers();
  verdict();
}

async function begin(what) {
  for (const button of form.querySelectorAll("button[data-run]")) button.disabled = true;
  try {
    await run(what);
  } catch (error) {
    note("fail", "Run failed.", error.message);
  }
  progress("");
  for (const button of form.querySelectorAll("button[data-run]")) button.disabled = false;
}

const [tensors, pictures, ...others] = await Promise.all(["tensors", "picture", "feeds", "shown"].map((name) => import(root.dataset[name])));
tools = { ...tensors, ...pictures };
[feeds, shows] = others;
for (const holder of root.querySelectorAll("[data-input]")) {
  holder.addEventListener("change", () => turn(holder));
  turn(holder);
  for (const button of holder.querySelectorAll("[data-fill]")) {
    button.addEventListener("click", () => {
      try {
        holder.querySelector('[data-set="json"]').value = feeds.made(spec.inputs[Number(holder.dataset.input)], button.dataset.fill);
        said.textContent = "Values inserted";
      } catch (error) {
        note("part", "Values not inserted.", `${error.message}.`);
      }
    });
  }
}
for (const hidden of root.querySelectorAll("[data-scripted]")) hidden.hidden = false;
for (const plain of root.querySelectorAll("[data-plain]")) plain.hidden = true;
if (typeof WebAssembly === "undefined" || typeof Worker === "undefined") {
  for (const one of form.querySelectorAll("[data-run=browser], .also")) one.hidden = true;
  part("unable").hidden = !form.querySelector("[data-run=browser]");
}

// The code follows the fields; the hub writes it, since it knows how each step is written.
let asked;
form.addEventListener("change", async ({ target }) => {
  if (target.type === "file" || !target.name || /^json-/.test(target.name)) return;
  const query = new URLSearchParams([...new FormData(form)].filter(([name, value]) => typeof value === "string" && !/^(csrf|json-)/.test(name)));
  const mine = asked = `${root.dataset.code}?${query}`;
  const answer = await fetch(mine).catch(() => undefined);
  if (!answer?.ok || mine !== asked) return;
  const text = await answer.text();
  const holder = part("code");
  holder.querySelector("code").textContent = text;
  const copy = holder.querySelector("[data-copy]");
  if (copy) copy.dataset.copy = text;
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const also = form.querySelector("[data-also]");
  const here = form.querySelector("[data-run=browser]:not([hidden])");
  begin(event.submitter?.dataset.run === "server" || !here ? { server: true } : { browser: true, server: Boolean(also?.checked) });
});

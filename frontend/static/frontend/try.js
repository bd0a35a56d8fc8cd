// Runs a model on this page: gathers the inputs, has a worker of the browser infer, asks the hub's
// worker for the same, and shows both with their difference.

const root = document.getElementById("try");
const spec = JSON.parse(root.dataset.model);
const form = root.querySelector("form");
const said = document.getElementById("said");
let tools, feeds, shows, sources, answers, worker, ready, current, busy, again;
// For each input: its place on the page, its steps, and what a drawing, a camera or an example gave.
const places = [];
let shelved = [];

const part = (name) => root.querySelector(`[data-part="${name}"]`);

function note(tone, title, words) {
  const shown = answers.make("p", "", { className: `note ${tone}` });
  shown.append(answers.make("b", title), ` ${words}`);
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
  const answer = await ask({ load: { base: new URL(root.dataset.base, location).href, entry: root.dataset.entry, files, threads, characters: spec.characters } }, (data) => {
    if (data.loading) progress(data.loading < most ? "Loading the model" : "Preparing the model", data.loading, data.loading < most ? most : 0);
    return data.loaded !== undefined;
  });
  ready = { threads, loaded: answer.loaded, labels: answer.labels };
  return ready;
}

// --- inputs -------------------------------------------------------------------------------------

const kindOf = (one) => one.holder.querySelector("[data-kind]").value;
const wayOf = (one) => one.holder.querySelector(`[data-way="${kindOf(one)}"]`);

function turn(one) {
  for (const way of one.holder.querySelectorAll("[data-way]")) way.hidden = way.dataset.way !== kindOf(one);
  if (one.set) one.set.hidden = kindOf(one) !== "picture";
  feeds.tidy(one.set);
}

function given(one, source, words = "") {
  Object.assign(one, { source, example: undefined });
  for (const button of part("examples")?.querySelectorAll("[aria-pressed=true]") ?? []) button.setAttribute("aria-pressed", "false");
  one.words.textContent = words;
  one.words.hidden = !words;
}

async function gathered() {
  const found = [];
  for (const one of places) {
    const { input, example } = one;
    try {
      if (example) found.push({ ...example.tensor, name: input.name, type: example.tensor.type, kind: kindOf(one), path: example.path, row: example.row, steps: [{ title: "Example", words: `${example.path}${example.row === undefined ? "" : `, row ${example.row}`}: a tensor, used as it is` }] });
      else found.push(await feeds.gather(input, kindOf(one), wayOf(one), tools, one.set, one.source));
    } catch (error) {
      if (!one.holder.contains(document.activeElement)) one.holder.querySelector("input:not([hidden], [type=hidden]), textarea")?.focus();
      throw new Error(`${input.name}: ${error.message}.`);
    }
  }
  return found;
}

function showSteps(inputs) {
  const list = part("steps");
  list.replaceChildren();
  part("tensor").replaceChildren();
  for (const one of inputs) {
    for (const step of [...one.steps, tensorStep(one)]) {
      const row = answers.make("li");
      row.append(answers.make("b", step.title), answers.make("span", `${inputs.length > 1 ? `${one.name}: ` : ""}${step.words}`));
      list.append(row);
    }
    const seen = one.canvas ?? (spec.sees ? shows.draw(one, tools.number, answers.figure, 4)?.canvas : undefined);
    if (!seen) continue;
    seen.setAttribute("role", "img");
    seen.setAttribute("aria-label", `${one.name} as passed to the model`);
    part("tensor").append(seen);
  }
  part("made").hidden = false;
}

function tensorStep(one) {
  const head = `${one.type}[${one.shape.join(", ")}]`;
  if (one.type === "string") return { title: "Tensor", words: `${head}: ${one.data.slice(0, 3).join(" | ")}` };
  const { least, most, mean, finite } = tools.figures(one);
  return { title: "Tensor", words: finite ? `${head}, from ${answers.figure(least)} to ${answers.figure(most)}, mean ${answers.figure(mean)}` : head };
}

// --- the hub's worker ---------------------------------------------------------------------------

async function onServer(given) {
  const calls = given.find((one) => one.calls?.length > 1)?.calls.length;
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
    part("server").textContent = `On the server: ${seen.facts.runtime} ${seen.facts.runtime_version}, 1 thread, ${calls ? `the first of ${calls} calls` : "one run"}, ${answers.span(1000 * seen.facts.run_seconds)}.`;
    return Promise.all(seen.facts.outputs.map(async (output) => {
      if (!output.file) return { name: output.name, type: "string", shape: output.shape ?? [output.values?.length ?? 0], data: (output.values ?? []).map((value) => (typeof value === "object" ? JSON.stringify(value) : String(value))) };
      const answer = await fetch(`${told.url}/${output.file}`);
      if (!answer.ok) throw new Error(`the output ${output.name} could not be loaded`);
      return { name: output.name, ...tools.fromNpy(await answer.arrayBuffer()) };
    }));
  }
}

// --- together -----------------------------------------------------------------------------------

// What an earlier answer showed goes as soon as another input is run.
function cleared() {
  for (const name of ["answer", "latency", "made"]) part(name).hidden = true;
  note("", "", "");
  for (const name of ["verdict", "expected"]) part(name).replaceChildren();
  part("server").textContent = "";
}

async function run({ browser, server, runs = Number(root.dataset.runs) }) {
  if (runs) cleared();
  const inputs = await gathered();
  if (!runs) cleared();
  const example = places.length && places.every((one) => one.example && one.example.of === places[0].example.of) ? places[0].example.of : undefined;
  current = { given: inputs, example };
  showSteps(inputs);
  answers.showChoices(inputs);
  const strange = answers.unlike(inputs, shelved);
  part("unlike").textContent = strange && `Unlike the training data, as far as the page can tell: ${strange} The answer may mean little.`;
  part("unlike").hidden = !strange;
  showCode(inputs);
  const remote = server ? onServer(inputs).then((found) => { current.server = found; }, (error) => { note("part", "The run on the server failed.", `${error.message}`); }) : undefined;
  if (browser) {
    const fetches = spec.outputs.filter((output) => output.plain).map((output) => output.name);
    if (!fetches.length) throw new Error("The outputs are not plain tensors. Run on the server instead.");
    const left = spec.outputs.filter((output) => !output.plain).map((output) => output.name);
    if (left.length && runs) note("part", "Partial result.", `The browser runtime returns tensors only. ${left.join(", ")} comes from the server.`);
    const fresh = !ready;
    await start();
    progress("First run", 0, 0);
    let first;
    const long = inputs.find((one) => one.calls?.length > 1);
    const sequence = long ? { calls: { name: long.name, windows: long.calls }, carried: spec.inputs.filter((one) => one.carry).map((one) => [one.name, one.carry]) } : {};
    current.characters = ready.labels;
    const timed = ask({ run: { feeds: inputs.map(({ name, type, shape, data }) => ({ name, type, shape, data })), fetches, runs, ...sequence } }, (data) => {
      if (data.called) progress(`Call ${data.called} of ${sequence.calls.windows.length}`, data.called, sequence.calls.windows.length);
      if (data.outputs) {
        first = data.first;
        current.here = data.outputs;
        current.single = long && data.single;
        current.took = `${answers.span(first)} in this browser, WebAssembly, ${ready.threads} thread${ready.threads === 1 ? "" : "s"}; ${long ? `the first of ${long.calls.length} calls` : fresh ? "the first run" : "one run"}.`;
        answers.showAnswers(current);
      }
      if (data.timed) progress(`Run ${data.timed} of ${runs}`, data.timed, runs);
      return Boolean(data.times);
    });
    const { times, clock } = await timed;
    if (runs) {
      answers.showTimes(times, first, ready);
      answers.offer(inputs, times, first, clock, ready);
    }
  }
  progress(server ? "Waiting for the server" : "", 0, 0);
  await remote;
  if (current.server || current.here) answers.showAnswers(current);
  answers.verdict(current);
  if (!server) said.textContent = part("bars").innerText.split("\n").slice(0, 2).join(" ");
}

async function begin(what) {
  const buttons = form.querySelectorAll("button[data-run]");
  for (const button of buttons) button.disabled = true;
  busy = true;
  try {
    await run(what);
  } catch (error) {
    note("fail", "Run failed.", error.message);
  }
  progress("");
  busy = false;
  for (const button of buttons) button.disabled = false;
  if (again) follow();
}

// The answer follows a change once the model is loaded, or where it is small enough to load unasked.
let pause;
function follow(load = false) {
  again = false;
  const button = form.querySelector("[data-run=browser]:not([hidden])");
  if (!button || !(ready || (load && root.dataset.quick))) return;
  clearTimeout(pause);
  pause = setTimeout(() => {
    if (busy) again = true;
    else begin({ browser: true, server: false, runs: 0 });
  }, 120);
}

// --- code: the hub writes it, since it knows how each step is written --------------------------------

const MOST_VALUES = 200;
let asked;
async function showCode(inputs = []) {
  const fields = [...new FormData(form)].filter(([name, value]) => typeof value === "string" && !/^(csrf|json-|cell-)/.test(name));
  const query = new URLSearchParams(fields);
  inputs.forEach((one, place) => {
    const at = places[place].input.index;
    const typed = ["table", "text"].includes(one.kind);
    if (one.path && !typed) {
      query.set(`example-${at}`, one.path);
      if (one.row !== undefined) query.set(`row-${at}`, one.row);
    }
    if ((one.path || !["picture", "sound", "file", "carry"].includes(one.kind)) && one.data.length <= MOST_VALUES && query.toString().length < 4000) query.set(`value-${at}`, JSON.stringify(tools.nested(one)));
    if (one.file) query.set(`name-${at}`, one.file);
  });
  const mine = asked = `${root.dataset.code}?${query}`;
  const found = await Promise.all(["python", "javascript"].map((language) => fetch(`${mine}&language=${language}`).then((answer) => (answer.ok ? answer.text() : undefined)).catch(() => undefined)));
  if (mine !== asked) return;
  part("code").querySelectorAll(".code").forEach((holder, at) => {
    if (found[at] === undefined) return;
    holder.querySelector("code").textContent = found[at];
    const copy = holder.querySelector("[data-copy]");
    if (copy) copy.dataset.copy = found[at];
  });
}

// --- examples -----------------------------------------------------------------------------------

function choose(example, button) {
  for (const one of places) {
    const value = example.inputs.get(one.input.index);
    if (!value) continue;
    given(one, value.file, value.file?.name ?? "");
    if (value.file) continue;
    one.example = { tensor: value, path: example.paths.get(one.input.index), row: example.row, of: example };
    const way = wayOf(one);
    const filled = way && feeds.refill(way, value, tools);
    one.words.textContent = filled ? "" : `${example.title} of the publisher.`;
    one.words.hidden = filled;
  }
  button.setAttribute("aria-pressed", "true");
  follow(true);
}

async function shelve() {
  const found = shelved = await sources.examples(JSON.parse(root.dataset.examples), spec, tools);
  if (!found.length) {
    if (part("examples")) part("examples").hidden = true;
    return;
  }
  const shelf = part("examples").querySelector(".shelf");
  found.forEach((example, at) => {
    const button = answers.make("button", "", { type: "button", className: "btn" });
    button.setAttribute("aria-pressed", "false");
    const label = answers.labelOf(example);
    const tensors = [...example.inputs.values()];
    const picture = spec.sees && tensors[0]?.shape ? shows.draw({ ...tensors[0], name: "" }, tools.number, answers.figure, 4)?.canvas : undefined;
    if (picture) {
      picture.setAttribute("role", "img");
      picture.setAttribute("aria-label", `Example, ${example.title}`);
      button.title = example.title;
      button.append(picture, label);
    } else {
      button.textContent = label ? `${at + 1}: ${label}` : `Example ${at + 1}`;
      button.setAttribute("aria-label", `Example ${button.textContent}`.replace("Example Example", "Example"));
    }
    button.addEventListener("click", () => choose(example, button));
    shelf.append(button);
  });
}

// --- the page begins ----------------------------------------------------------------------------

function equip(one) {
  const { holder } = one;
  const listen = (selector, act) => holder.querySelector(selector)?.addEventListener("click", async ({ currentTarget }) => {
    try {
      await act(currentTarget);
    } catch (error) {
      note("part", "Not possible here.", `${error.message}.`);
    }
  });
  const canvas = holder.querySelector("[data-draw]");
  const trim = one.set?.querySelector('[data-set="trim"]');
  // Of a drawing the page knows what of others its reader says: dark strokes on a light ground.
  const stroked = async () => {
    given(one, new File([await sources.blobOf(canvas)], "drawing.png", { type: "image/png" }));
    one.set.querySelector('[data-set="own"]').value = "dark-on-light";
    trim.checked = true;
    follow(true);
  };
  if (canvas) {
    const clear = sources.drawing(canvas, stroked);
    listen("[data-clear]", () => { clear(); given(one); });
  }
  listen("[data-camera]", async (button) => {
    const file = await sources.camera(button, holder.querySelector("video"));
    if (!file) return;
    given(one, file, `A picture of the camera. ${await feeds.propose(one.set, file, tools)}`);
    follow(true);
  });
  listen("[data-record]", async (button) => {
    const file = await sources.record(button, one);
    if (!file) return;
    given(one, file, "A recording.");
    follow(true);
  });
  for (const button of holder.querySelectorAll("[data-fill]")) {
    button.addEventListener("click", () => {
      try {
        holder.querySelector('[data-set="json"]').value = feeds.made(one.input, button.dataset.fill);
        given(one);
        said.textContent = "Values inserted";
      } catch (error) {
        note("part", "Values not inserted.", `${error.message}.`);
      }
    });
  }
  const changed = async ({ target }) => {
    turn(one);
    if (target.matches("[data-kind]")) return;
    given(one);
    // What a picture suggests is proposed; a file that is none is refused by the run.
    if (target.files?.[0] && one.set && kindOf(one) === "picture") given(one, undefined, await feeds.propose(one.set, target.files[0], tools).catch(() => ""));
    follow(["sound", "file"].includes(kindOf(one)));
  };
  holder.addEventListener("change", changed);
  one.set?.addEventListener("change", () => { turn(one); follow(); showCode(current?.given); });
  turn(one);
}

// Dropped anywhere on an input, a file is chosen as by its field.
function droppable({ holder }) {
  const target = holder.querySelector('[data-drop] input[type="file"]');
  if (!target) return;
  holder.addEventListener("dragover", (event) => event.preventDefault());
  holder.addEventListener("drop", (event) => {
    event.preventDefault();
    if (!event.dataTransfer.files.length) return;
    target.files = event.dataTransfer.files;
    target.dispatchEvent(new Event("change", { bubbles: true }));
  });
}

const modules = ["tensors", "picture", "feeds", "shown", "sources", "answers"];
if (spec.outputs.some((output) => output.reading)) modules.push("readings");
const [tensors, pictures, ...others] = await Promise.all(modules.map((name) => import(root.dataset[name])));
tools = { ...tensors, ...pictures };
let readings;
[feeds, shows, sources, answers, readings] = others;
answers.begin(spec, tools, shows, readings);
for (const holder of root.querySelectorAll("[data-input]")) {
  const input = spec.inputs[Number(holder.dataset.input)];
  if (!holder.querySelector("[data-kind]")) continue;
  const one = { input, holder, set: root.querySelector(`[data-settings="${input.index}"]`), words: holder.querySelector("[data-example]") };
  places.push(one);
  equip(one);
  droppable(one);
}
for (const hidden of root.querySelectorAll("[data-scripted]")) hidden.hidden = false;
for (const plain of root.querySelectorAll("[data-plain]")) plain.hidden = true;
for (const one of places) turn(one);
if (typeof WebAssembly === "undefined" || typeof Worker === "undefined") {
  for (const one of form.querySelectorAll("[data-run=browser], .also")) one.hidden = true;
  part("unable").hidden = !form.querySelector("[data-run=browser]");
}
part("answers").closest("details").querySelector("summary").addEventListener("click", ({ target }) => { target.parentElement.dataset.touched = "yes"; });
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const also = form.querySelector("[data-also]");
  const here = form.querySelector("[data-run=browser]:not([hidden])");
  begin(event.submitter?.dataset.run === "server" || !here ? { server: true } : { browser: true, server: Boolean(also?.checked) });
});
shelve();

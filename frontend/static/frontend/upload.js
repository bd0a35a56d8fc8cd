// Files into a draft: each is read for its digest, sent in 8 MB steps (tus 1.0), compared with the
// hub's digest, then given its path. A reload or a lost line goes on where it stopped.

const STEP = 8e6;
const API = "/api/v1";
const form = document.querySelector("form[data-upload]");
const list = form.querySelector(".sending");
const input = form.querySelector('input[type="file"]:not([webkitdirectory])');
const button = form.querySelector("[data-start]");
const row = form.querySelector("template").content.firstElementChild;
const said = document.getElementById("said");
let version = form.dataset.version;
let after = form.dataset.after;
let busy = false;
const queue = [];

const wait = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

class Refused extends Error {}

async function explain(answer) {
  const problem = await answer.json().catch(() => ({}));
  const error = new Refused(problem.detail || problem.title || `HTTP status ${answer.status}.`);
  error.errors = problem.errors || [];
  return error;
}

async function ask(method, path, { json, ...options } = {}) {
  const headers = { "X-CSRFToken": form.csrfmiddlewaretoken.value, Accept: "application/json", ...options.headers };
  if (json) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, { method, ...options, headers, body: json ? JSON.stringify(json) : undefined });
  if (!answer.ok) throw await explain(answer);
  return answer;
}

// 1 kB = 1000 bytes, three digits, narrow no-break space: as the server writes sizes.
function size(bytes) {
  const at = bytes < 1e3 ? 0 : Math.min(4, Math.floor(Math.log10(bytes) / 3));
  const text = at ? String(Number((bytes / 1e3 ** at).toPrecision(3))) : String(bytes);
  return `${text}\u202f${["B", "kB", "MB", "GB", "TB"][at]}`;
}

function span(seconds) {
  if (!Number.isFinite(seconds)) return "";
  return seconds < 90 ? `${Math.ceil(seconds)}\u202fs left` : `${Math.ceil(seconds / 60)}\u202fmin left`;
}

// What a .onnx file cannot start with; the hub looks again, this only saves sending it.
const WRONG = [
  [/^version https:\/\/git-lfs/, "a Git LFS pointer, not the model. Run git lfs pull and choose the file again."],
  [/^PK\x03\x04/, "a zip archive, not a model. Unpack it first."],
  [/^\x1f\x8b/, "a gzip archive, not a model. Unpack it first."],
  [/^\x80[\x02-\x05]/, "a Python pickle, not a model. Export it to ONNX first."],
  [/^\s*<(!doctype|html)/i, "a web page, not a model. Download the file again."],
];

async function inspect(entry) {
  const { file } = entry;
  if (file.size > Number(form.dataset.limit)) throw new Refused(`The file exceeds the limit of ${size(Number(form.dataset.limit))}.`);
  if (!/\.onnx$/i.test(file.name)) return;
  if (!file.size) throw new Refused("The file is empty.");
  const head = String.fromCharCode(...new Uint8Array(await file.slice(0, 64).arrayBuffer()));
  for (const [pattern, words] of WRONG) if (pattern.test(head)) throw new Refused(`This is ${words}`);
}

function digest(entry) {
  return new Promise((done, fail) => {
    const worker = new Worker(form.dataset.hash);
    worker.onmessage = ({ data }) => {
      if (data.done) return show(entry, data.done, "reading");
      worker.terminate();
      if (data.sha256) done(data.sha256);
      else fail(new Refused("The file could not be read. It may have been moved."));
    };
    worker.onerror = () => fail(new Refused("The file could not be read."));
    worker.postMessage(entry.file);
  });
}

function show(entry, done, doing) {
  const { bar, amount, word } = entry.parts;
  const all = entry.file?.size || entry.length || 0;
  bar.max = all || 1;
  bar.value = all ? done : 1;
  word.textContent = doing;
  const seconds = (performance.now() - entry.since) / 1000;
  const rate = (done - entry.from) / seconds;
  amount.textContent = doing === "sending" ? `${size(done)} of ${size(all)}, ${size(Math.round(rate))}/s, ${span((all - done) / rate)}` : size(all);
  entry.sent = doing === "reading" ? 0 : done;
  total();
}

function total() {
  const sum = form.querySelector("[data-sum]");
  const all = queue.reduce((bytes, entry) => bytes + (entry.refused ? 0 : entry.file.size), 0);
  const done = queue.reduce((bytes, entry) => bytes + (entry.refused ? 0 : entry.sent || 0), 0);
  const quarter = all ? Math.floor((4 * done) / all) : 0;
  sum.textContent = `${size(done)} of ${size(all)} sent`;
  if (busy && quarter !== Number(sum.dataset.quarter || 0)) said.textContent = `${25 * quarter} % sent`;
  sum.dataset.quarter = quarter;
}

function add(file, path) {
  const parts = row.cloneNode(true);
  const entry = { file, path, since: 0, from: 0, sent: 0, paused: false };
  entry.parts = { item: parts, bar: parts.querySelector("progress"), amount: parts.querySelector("[data-amount]"), word: parts.querySelector("[data-word]"), why: parts.querySelector(".why"), pause: parts.querySelector("button") };
  parts.querySelector(".path").textContent = path;
  entry.parts.bar.setAttribute("aria-label", `Progress of ${path}`);
  entry.parts.pause.setAttribute("aria-label", `Pause ${path}`);
  entry.parts.pause.addEventListener("click", () => pause(entry));
  list.append(parts);
  list.hidden = false;
  queue.push(entry);
  show(entry, 0, "waiting");
}

function pause(entry) {
  entry.paused = !entry.paused;
  entry.parts.pause.textContent = entry.paused ? "Resume" : "Pause";
  entry.parts.pause.setAttribute("aria-label", `${entry.paused ? "Resume" : "Pause"} ${entry.path}`);
  if (entry.paused) entry.request?.abort();
  else entry.go?.();
}

const paused = (entry) => new Promise((done) => { entry.go = done; });
const memory = (entry) => `upload ${version} ${entry.path}`;

async function begin(entry) {
  const kept = JSON.parse(localStorage.getItem(memory(entry)) || "null");
  if (kept?.sha256 === entry.sha256) {
    const answer = await fetch(kept.url, { method: "HEAD", headers: { "Tus-Resumable": "1.0.0" } });
    if (answer.ok) return { url: kept.url, offset: Number(answer.headers.get("Upload-Offset")) };
  }
  const text = (words) => btoa(String.fromCharCode(...new TextEncoder().encode(words)));
  const answer = await ask("POST", `${API}/uploads`, {
    headers: { "Tus-Resumable": "1.0.0", "Upload-Length": String(entry.file.size), "Upload-Metadata": `sha256 ${text(entry.sha256)},filename ${text(entry.path)}` },
  });
  const url = answer.headers.get("Location");
  localStorage.setItem(memory(entry), JSON.stringify({ url, sha256: entry.sha256, length: entry.file.size, path: entry.path }));
  return { url, offset: 0 };
}

function patch(entry, url, offset) {
  return new Promise((done, fail) => {
    const request = new XMLHttpRequest();
    entry.request = request;
    request.open("PATCH", url);
    request.setRequestHeader("Tus-Resumable", "1.0.0");
    request.setRequestHeader("Upload-Offset", String(offset));
    request.setRequestHeader("Content-Type", "application/offset+octet-stream");
    request.setRequestHeader("X-CSRFToken", form.csrfmiddlewaretoken.value);
    request.upload.onprogress = (event) => show(entry, offset + event.loaded, "sending");
    request.onload = async () => {
      if (request.status === 204) return done(Number(request.getResponseHeader("Upload-Offset")));
      if (request.status === 409 || request.status >= 500) return fail(new Error("again"));
      fail(await explain(new Response(request.responseText, { status: request.status })));
    };
    request.onerror = request.onabort = () => fail(new Error("cut"));
    request.send(entry.file.slice(offset, offset + STEP));
  });
}

async function send(entry) {
  let { url, offset } = await begin(entry);
  entry.since = performance.now();
  entry.from = offset;
  let failures = 0;
  while (offset < entry.file.size) {
    if (entry.paused) {
      show(entry, offset, "paused");
      await paused(entry);
    }
    try {
      offset = await patch(entry, url, offset);
      failures = 0;
    } catch (error) {
      if (error instanceof Refused) throw error;
      if (!entry.paused) {
        if (++failures > 8) throw new Refused("Connection lost. Choose the file again to resume.");
        show(entry, offset, "waiting for the connection");
        await wait(Math.min(30, 2 ** (failures - 1)));
      }
      const answer = await fetch(url, { method: "HEAD", headers: { "Tus-Resumable": "1.0.0" } }).catch(() => null);
      if (answer?.ok) offset = Number(answer.headers.get("Upload-Offset"));
    }
  }
  return url;
}

// The last step may still be hashed when it is answered; the upload's own page says when it is done.
async function stored(entry, url) {
  for (;;) {
    const upload = await (await ask("GET", url)).json();
    if (upload.state === "refused") throw new Refused("The digest does not match. Upload the file again.");
    if (upload.blob) return upload.blob;
    show(entry, entry.file.size, "comparing digests");
    await wait(1);
  }
}

async function place(entry) {
  try {
    await inspect(entry);
    entry.sha256 = await digest(entry);
    const blob = await stored(entry, await send(entry));
    if (blob !== `sha256:${entry.sha256}`) throw new Refused("The digest does not match. Upload the file again.");
    await ask("PUT", `${version}/files/${entry.path.split("/").map(encodeURIComponent).join("/")}`, { json: { blob } });
    show(entry, entry.file.size, "stored");
  } catch (error) {
    if (!(error instanceof Refused)) console.warn(error);
    entry.refused = true;
    entry.parts.why.textContent = error instanceof Refused ? error.message : "Something went wrong. Choose the file again.";
    entry.parts.word.textContent = "failed";
    entry.parts.item.classList.add("refused");
    total();
  }
  entry.parts.pause.hidden = true;
  localStorage.removeItem(entry.refused ? "" : memory(entry));
}

function tell(error) {
  const box = form.querySelector("[data-error]");
  box.textContent = [error.message, ...(error.errors || []).map((one) => one.detail).filter((detail) => detail !== error.message)].join(" ");
  box.hidden = false;
  box.focus();
}

// A new model and its draft come first, with addresses of their own; from then on a reload of the
// page shows the draft.
async function open() {
  const value = (name) => form.elements[name]?.value.trim() || "";
  let model = form.dataset.model;
  if (!model) {
    const json = { namespace: value("namespace"), name: value("name"), visibility: value("visibility"), license: value("license"), task: value("task"), summary: value("summary") };
    await ask("POST", `${API}/models`, { json });
    model = form.dataset.model = `${API}/models/${json.namespace}/${json.name}`;
  }
  const made = await (await ask("POST", `${model}/versions`, { json: { message: value("message"), label: value("label") } })).json();
  version = `${model}/versions/${made.number}`;
  after = `${model.replace(API, "")}/v/${made.number}/draft`;
  history.replaceState(null, "", after);
}

async function run() {
  if (busy) return;
  busy = true;
  if (button) button.disabled = true;
  try {
    if (!version) await open();
    for (let entry; (entry = queue.find((one) => !one.tried)); ) {
      entry.tried = true;
      await place(entry);
    }
    said.textContent = "All files uploaded";
    if (queue.some((entry) => entry.refused)) {
      const link = form.querySelector("[data-on]");
      link.href = after;
      link.hidden = false;
    } else location.assign(after);
  } catch (error) {
    tell(error);
    if (button) button.disabled = false;
  }
  busy = false;
}

function take(files) {
  form.querySelector("[data-sum]").hidden = false;
  for (const file of files) add(file, file.webkitRelativePath ? file.webkitRelativePath.split("/").slice(1).join("/") : file.name);
  if (version) run();
}

input.removeAttribute("required");
for (const chosen of form.querySelectorAll('input[type="file"]')) {
  chosen.addEventListener("change", () => {
    take(chosen.files);
    chosen.value = "";
  });
}
form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (queue.length) run();
  else tell(new Error("Choose at least one file."));
});

const drop = form.querySelector(".drop");
for (const kind of ["dragover", "dragleave", "drop"]) {
  drop.addEventListener(kind, (event) => {
    event.preventDefault();
    drop.classList.toggle("over", kind === "dragover");
    if (kind === "drop") take(event.dataTransfer.files);
  });
}
for (const chosen of form.querySelectorAll('input[type="file"]')) {
  chosen.hidden = chosen.disabled = false;
  chosen.classList.add("sr");
}
for (const part of form.querySelectorAll("[data-scripted]")) part.hidden = false;
for (const part of form.querySelectorAll("[data-plain]")) part.hidden = true;

// What an earlier visit left unfinished.
for (const key of Object.keys(localStorage)) {
  if (!version || !key.startsWith(`upload ${version} `)) continue;
  const kept = JSON.parse(localStorage.getItem(key));
  const left = form.querySelector("[data-left]");
  left.hidden = false;
  left.append(Object.assign(document.createElement("li"), { textContent: `${kept.path} (${size(kept.length)}) was not fully uploaded. Choose it again to resume.` }));
}

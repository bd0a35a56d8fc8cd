// Runs the model away from the page: loads the runtime and the files, infers, and times itself.

// How long a model is timed, in milliseconds, and how many runs at least: slow ones have fewer.
const MOST_TIMED = 10_000, LEAST_RUNS = 3;

let session;
let runtime;

const say = (message, moved = []) => postMessage(message, moved);

async function bytes(file, done) {
  const answer = await fetch(file.url);
  if (!answer.ok) throw new Error(`${file.path} could not be downloaded: HTTP status ${answer.status}`);
  const held = new Uint8Array(file.bytes);
  let at = 0;
  for (const reader = answer.body.getReader(); ; ) {
    const { done: ended, value } = await reader.read();
    if (ended) break;
    if (at + value.length > held.length) throw new Error(`${file.path} is larger than expected`);
    held.set(value, at);
    at += value.length;
    say({ loading: done + at });
  }
  if (at !== held.length) throw new Error(`${file.path} is incomplete`);
  return held;
}

// A value of the metadata of an ONNX file, which may be longer than a page holds: field 14 of its
// message, pairs of key and value. Undefined where the file has none.
function metadata(bytes, wanted) {
  const walk = (at, end, visit) => {
    const varint = () => {
      for (let value = 0, scale = 1; ; scale *= 128) {
        const byte = bytes[at];
        at += 1;
        value += (byte & 127) * scale;
        if (!(byte >= 128)) return value;
      }
    };
    while (at < end) {
      const key = varint();
      const wire = key % 8, size = wire === 0 ? varint() * 0 : wire === 1 ? 8 : wire === 5 ? 4 : varint();
      visit(Math.floor(key / 8), at, at + size);
      at += size;
    }
  };
  let found;
  walk(0, bytes.length, (field, from, to) => {
    if (field !== 14) return;
    const pair = {};
    walk(from, to, (part, start, end) => { pair[part] = new TextDecoder().decode(bytes.subarray(start, end)); });
    if (pair[1] === wanted) found = pair[2];
  });
  return found;
}

async function load({ base, entry, files, threads, characters }) {
  runtime = await import(base + entry);
  runtime.env.wasm.wasmPaths = base;
  runtime.env.wasm.numThreads = threads;
  runtime.env.logLevel = "error";
  const held = [];
  let done = 0;
  for (const file of files) {
    held.push(await bytes(file, done));
    done += file.bytes;
  }
  const labels = characters ? metadata(held[0], characters) : undefined;
  const began = performance.now();
  session = await runtime.InferenceSession.create(held[0], {
    executionProviders: ["wasm"],
    externalData: files.slice(1).map((file, at) => ({ path: file.path, data: held[at + 1] })),
  });
  say({ loaded: performance.now() - began, apart: self.crossOriginIsolated, labels });
}

// The outputs of all calls, one below the other along the first axis.
function joined(parts) {
  if (parts.length === 1) return parts[0];
  const [{ name, type, shape }] = parts;
  const data = type === "string" ? parts.flatMap((part) => part.data) : new parts[0].data.constructor(parts.reduce((all, part) => all + part.data.length, 0));
  if (type !== "string") parts.reduce((at, part) => { data.set(part.data, at); return at + part.data.length; }, 0);
  return { name, type, shape: [parts.reduce((all, part) => all + (part.shape[0] ?? 1), 0), ...shape.slice(1)], data };
}

async function run({ feeds, fetches, runs, calls, carried }) {
  const given = {};
  for (const one of feeds) given[one.name] = new runtime.Tensor(one.type, one.data, one.shape);
  const initial = { ...given };
  const answers = [];
  let first;
  for (const data of calls?.windows ?? [undefined]) {
    if (data) given[calls.name] = new runtime.Tensor(initial[calls.name].type, data, initial[calls.name].dims);
    const began = performance.now();
    const found = await session.run(given, fetches);
    first ??= performance.now() - began;
    answers.push(fetches.map((name) => {
      const { type, dims, data: values } = found[name];
      // A copy: the runtime may use its own again.
      return { name, type, shape: [...dims], data: type === "string" ? [...values] : values.slice() };
    }));
    for (const [input, output] of carried ?? []) given[input] = found[output];
    if (answers.length % 50 === 0) say({ called: answers.length });
  }
  // Of a state only the last is an answer.
  const states = new Set((carried ?? []).map(([, output]) => output));
  const outputs = fetches.map((name, at) => (states.has(name) ? answers.at(-1)[at] : joined(answers.map((answer) => answer[at]))));
  say({ outputs, single: answers[0], first });
  Object.assign(given, initial);
  const times = [];
  const until = performance.now() + MOST_TIMED;
  while (times.length < runs && (times.length < LEAST_RUNS || performance.now() < until)) {
    const start = performance.now();
    await session.run(given, fetches);
    times.push(performance.now() - start);
    say({ timed: times.length });
  }
  say({ times, clock: step() });
}

// The smallest step of this browser's clock, in milliseconds: browsers make it coarse on purpose.
function step() {
  let least = Infinity;
  for (let seen = 0, last = performance.now(); seen < 5; ) {
    const now = performance.now();
    if (now === last) continue;
    least = Math.min(least, now - last);
    last = now;
    seen += 1;
  }
  return least;
}

addEventListener("message", async ({ data }) => {
  try {
    await (data.load ? load(data.load) : run(data.run));
  } catch (error) {
    say({ failed: String(error?.message ?? error) });
  }
});

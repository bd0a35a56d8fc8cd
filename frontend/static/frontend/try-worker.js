// Runs the model away from the page: loads the runtime and the files, infers, and times itself.

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

async function load({ base, entry, files, threads }) {
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
  const began = performance.now();
  session = await runtime.InferenceSession.create(held[0], {
    executionProviders: ["wasm"],
    externalData: files.slice(1).map((file, at) => ({ path: file.path, data: held[at + 1] })),
  });
  say({ loaded: performance.now() - began, apart: self.crossOriginIsolated });
}

async function run({ feeds, fetches, runs }) {
  const given = {};
  for (const one of feeds) given[one.name] = new runtime.Tensor(one.type, one.data, one.shape);
  const began = performance.now();
  const found = await session.run(given, fetches);
  const first = performance.now() - began;
  const outputs = fetches.map((name) => {
    const { type, dims, data } = found[name];
    // A copy: the runtime may use its own again.
    return { name, type, shape: [...dims], data: type === "string" ? [...data] : data.slice() };
  });
  say({ outputs, first });
  const times = [];
  while (times.length < runs) {
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

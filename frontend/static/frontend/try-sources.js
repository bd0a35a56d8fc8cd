// Where inputs come from besides fields and files: a drawing, the camera, the microphone, and the
// examples that the version supplies, whose files are parsed here.

// --- examples: TensorProto of ONNX ---------------------------------------------------------------

const NAMES = { 1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 8: "string", 9: "bool", 10: "float16", 11: "float64", 12: "uint32", 13: "uint64" };
const MOST_THUMBS = 8;

function* fieldsOf(view) {
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      if (at >= view.byteLength) throw new Error("the file is incomplete");
      const byte = view.getUint8(at);
      at += 1;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
    throw new Error("this is not a TensorProto");
  };
  while (at < view.byteLength) {
    const key = Number(varint());
    const field = key >> 3, wire = key & 7;
    if (wire === 0) { yield { field, value: varint() }; continue; }
    const size = wire === 2 ? Number(varint()) : wire === 5 ? 4 : wire === 1 ? 8 : NaN;
    if (!(size >= 0 && at + size <= view.byteLength)) throw new Error("this is not a TensorProto");
    yield { field, wire, bytes: new DataView(view.buffer, view.byteOffset + at, size) };
    at += size;
  }
}

function* packed(one) {
  if (one.value !== undefined) yield one.value;
  else for (let at = 0, value = 0n, shift = 0n; at < one.bytes.byteLength; at += 1) {
    const byte = one.bytes.getUint8(at);
    value |= BigInt(byte & 127) << shift;
    shift += 7n;
    if (byte < 128) { yield value; value = 0n; shift = 0n; }
  }
}

// Gives { type, shape, data }; raises Error for what is no plain tensor.
export function fromProto(buffer, tools) {
  const shape = [], numbers = [], words = [];
  let type, raw;
  for (const one of fieldsOf(new DataView(buffer))) {
    if (one.field === 1) for (const size of packed(one)) shape.push(Number(size));
    else if (one.field === 2) type = NAMES[Number(one.value)];
    else if (one.field === 6) words.push(new TextDecoder().decode(one.bytes));
    else if (one.field === 9) raw = one.bytes;
    else if (one.field === 4) for (let at = 0; at < one.bytes.byteLength; at += 4) numbers.push(one.bytes.getFloat32(at, true));
    else if (one.field === 10) for (let at = 0; at < one.bytes.byteLength; at += 8) numbers.push(one.bytes.getFloat64(at, true));
    else if (one.field === 5) for (const value of packed(one)) numbers.push(Number(BigInt.asIntN(64, value)));
    else if (one.field === 7 || one.field === 11) for (const value of packed(one)) numbers.push(one.field === 7 ? BigInt.asIntN(64, value) : value);
    else if (one.field === 13 || one.field === 14) throw new Error("its data is in another file");
  }
  const size = tools.count(shape);
  if (!type || !Number.isSafeInteger(size) || size > 2 ** 24) throw new Error("this is not a plain tensor");
  let data;
  if (type === "string") data = words;
  else if (raw) data = tools.fromBytes(type, raw);
  // Halves lie as bits in whole numbers.
  else data = type === "float16" ? Uint16Array.from(numbers) : tools.filled(type, numbers);
  if (data.length !== size) throw new Error("the file is incomplete");
  return { type, shape, data };
}

// One row of a batch, with the batch axis kept.
export function rowOf(tensor, row) {
  const [rows, ...rest] = tensor.shape;
  const size = tensor.data.length / rows;
  return { ...tensor, shape: [1, ...rest], data: tensor.data.slice(row * size, (row + 1) * size) };
}

async function loaded(url, tools) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`the example could not be loaded: HTTP status ${answer.status}`);
  if (/\.(png|jpe?g|webp|bmp|gif)$/i.test(url)) return { file: new File([await answer.blob()], decodeURIComponent(url.split("/").at(-1))) };
  const buffer = await answer.arrayBuffer();
  return /\.npy$/i.test(url) ? tools.fromNpy(buffer) : fromProto(buffer, tools);
}

// The rows that a version's files hold: { title, row, rows, inputs: Map, outputs: Map, paths: Map }.
export async function examples(listed, spec, tools) {
  const found = [];
  for (const one of listed) {
    try {
      const inputs = new Map(await Promise.all(one.inputs.map(async (file) => [file.index, await loaded(file.url, tools)])));
      const outputs = new Map();
      for (const file of one.outputs) {
        // What is no tensor, as a map of scores, is compared by the checks of the version alone.
        const value = await loaded(file.url, tools).catch(() => undefined);
        if (value) outputs.set(file.index, value);
      }
      const paths = new Map(one.inputs.map((file) => [file.index, file.path]));
      const batches = [...inputs].map(([index, value]) => {
        const free = spec.inputs[index].shape?.[0];
        return value.shape && (free === null || free === 1) ? value.shape[0] : 0;
      });
      const rows = batches.length && batches.every((size) => size === batches[0]) && batches[0] > 1 ? batches[0] : 0;
      if (!rows) found.push({ title: one.title, inputs, outputs, paths });
      for (let row = 0; row < Math.min(rows, MOST_THUMBS); row += 1) {
        const part = (values) => new Map([...values].filter(([, value]) => value.shape?.[0] === rows).map(([index, value]) => [index, rowOf(value, row)]));
        found.push({ title: `${one.title}, row ${row}`, row, inputs: part(inputs), outputs: part(outputs), paths });
      }
    } catch {
      // An example that cannot be read is left out; the version's checks say why.
    }
  }
  // A set of one row often is the first row of another.
  const seen = new Set();
  const fresh = ({ inputs }) => {
    const key = JSON.stringify([...inputs].map(([index, value]) => [index, value.file?.name ?? [value.shape, Array.from(value.data, String)]]));
    return !seen.has(key) && Boolean(seen.add(key));
  };
  return found.filter(fresh).slice(0, MOST_THUMBS);
}

// --- drawing ---------------------------------------------------------------------------------------

export function drawing(canvas, changed) {
  const context = canvas.getContext("2d", { willReadFrequently: true });
  let last;
  const clear = () => {
    Object.assign(context, { fillStyle: "#fff", strokeStyle: "#000", lineWidth: canvas.width / 9, lineCap: "round", lineJoin: "round" });
    context.fillRect(0, 0, canvas.width, canvas.height);
  };
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [((event.clientX - box.left) * canvas.width) / box.width, ((event.clientY - box.top) * canvas.height) / box.height];
  };
  const line = (event) => {
    if (!last) return;
    const now = place(event);
    context.beginPath();
    context.moveTo(...last);
    context.lineTo(...now);
    context.stroke();
    last = now;
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    last = place(event);
    line(event);
    event.preventDefault();
  });
  canvas.addEventListener("pointermove", line);
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => { if (last) changed(); last = undefined; });
  clear();
  return clear;
}

export const blobOf = (canvas) => new Promise((done) => canvas.toBlob(done, "image/png"));

// --- camera and microphone: asked for on a click, and let go after it --------------------------------

const off = (stream) => stream.getTracks().forEach((track) => track.stop());

// The first click shows the picture of the camera, the second takes it.
export async function camera(button, video) {
  const stream = video.srcObject;
  if (!stream) {
    video.srcObject = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" } });
    video.hidden = false;
    await video.play();
    button.textContent = "Take picture";
    return undefined;
  }
  const canvas = Object.assign(document.createElement("canvas"), { width: video.videoWidth, height: video.videoHeight });
  canvas.getContext("2d").drawImage(video, 0, 0);
  off(stream);
  video.srcObject = null;
  video.hidden = true;
  button.textContent = "Camera";
  return new File([await blobOf(canvas)], "camera.png", { type: "image/png" });
}

// The first click records, the second ends it.
export async function record(button, state) {
  if (!state.recorder) {
    const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
    const parts = [];
    state.recorder = new MediaRecorder(stream);
    state.recorder.addEventListener("dataavailable", ({ data }) => parts.push(data));
    state.ended = new Promise((done) => state.recorder.addEventListener("stop", () => { off(stream); done(new File(parts, "recording")); }));
    state.recorder.start();
    button.textContent = "Stop recording";
    return undefined;
  }
  state.recorder.stop();
  state.recorder = undefined;
  button.textContent = "Record";
  return state.ended;
}

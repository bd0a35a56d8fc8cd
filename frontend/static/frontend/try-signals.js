// Sound and the bytes of a file -> the tensors of one call after another, as a card declares them
// (hub/protocol/inputs/signals.py).

const MOST_CALLS = 4000;

// The axis of samples: the last that is not fixed to 1.
function axisOf(shape) {
  return (shape ?? [null]).findLastIndex((size) => size !== 1);
}

function shapeOf(input, size) {
  const axis = axisOf(input.shape);
  return (input.shape ?? [null]).map((own, at) => (at === axis ? size : own ?? 1));
}

// Windows of equal length over the samples: `lead` samples of silence first, the last one filled.
export function windows(samples, { window, hop = window, lead = 0, fill = "silence" }) {
  if (!window) return [samples];
  let padded = samples;
  if (fill === "repeat" && samples.length && samples.length < window) padded = Float32Array.from({ length: window }, (_, at) => samples[at % samples.length]);
  const size = lead + padded.length;
  const count = Math.min(MOST_CALLS, Math.max(1, Math.ceil((size - window) / hop) + 1));
  const whole = new Float32Array(Math.max(size, (count - 1) * hop + window));
  whole.set(padded, lead);
  return Array.from({ length: count }, (_, at) => whole.slice(at * hop, at * hop + window));
}

// The sound as a line from the lowest to the highest sample of each column.
function drawn(samples) {
  const [width, height] = [320, 64];
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  const context = canvas.getContext("2d");
  context.fillStyle = getComputedStyle(document.body).color;
  const step = samples.length / width;
  const loudest = samples.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-3);
  for (let x = 0; x < width; x += 1) {
    let low = 0, high = 0;
    for (let at = Math.floor(x * step); at < Math.floor((x + 1) * step); at += 1) {
      low = Math.min(low, samples[at]);
      high = Math.max(high, samples[at]);
    }
    const top = (height / 2) * (1 - high / loudest), bottom = (height / 2) * (1 - low / loudest);
    context.fillRect(x, top, 1, Math.max(1, bottom - top));
  }
  return canvas;
}

const seconds = (count, rate) => `${(count / rate).toFixed(2)} s`;

export async function sound(input, way, tools, _, source) {
  const file = source ?? way.querySelector('[data-set="file"]').files[0];
  if (!file) throw new Error("choose an audio file or record one");
  const rate = Number(way.querySelector('[data-set="rate"]').value);
  if (!(rate >= 3000 && rate <= 768000)) throw new Error("enter the sample rate of the model");
  const decoded = await new OfflineAudioContext(1, 1, rate).decodeAudioData(await file.arrayBuffer()).catch(() => { throw new Error(`this browser cannot decode ${file.name}; a WAV file works everywhere`); });
  const channels = decoded.numberOfChannels;
  const steps = [{ title: "Decoded", words: `${decoded.duration.toFixed(2)} s, ${channels} channel${channels === 1 ? "" : "s"}, resampled to ${rate} Hz` }];
  const samples = new Float32Array(decoded.length);
  for (let channel = 0; channel < channels; channel += 1) {
    decoded.getChannelData(channel).forEach((value, place) => { samples[place] += value / channels; });
  }
  if (channels > 1) steps.push({ title: "Mixed", words: "mean of all channels" });
  const declared = input.audio ?? {};
  const fixed = (input.shape ?? [null])[axisOf(input.shape)] ?? undefined;
  const how = { ...declared, window: declared.window ?? fixed };
  // Without a declaration the model is called once: how windows follow one another is not known.
  const calls = windows(samples, how).slice(0, input.audio ? MOST_CALLS : 1);
  if (!input.audio && how.window && how.window !== samples.length) steps.push({ title: how.window < samples.length ? "Cut" : "Padded", words: `${how.window} samples${how.window < samples.length ? ", the first" : ", silence at the end"}` });
  else if (how.fill === "repeat" && samples.length < how.window) steps.push({ title: "Repeated", words: `to ${seconds(how.window, rate)}` });
  if (calls.length > 1) {
    const hop = how.hop ?? how.window;
    steps.push({ title: "Windows", words: `${calls.length} calls of ${how.window} samples, one each ${hop} samples${how.lead ? `, after ${how.lead} samples of silence` : ""}` });
    const heard = (calls.length - 1) * hop + how.window - (how.lead ?? 0);
    if (heard < samples.length) steps.push({ title: "Limit", words: `the first ${seconds(heard, rate)}: at most ${MOST_CALLS} calls` });
  }
  const typed = calls.map((values) => tools.filled(input.type, values));
  return { shape: shapeOf(input, typed[0].length), data: typed[0], calls: typed, steps, canvas: drawn(samples), sound: { rate, hop: how.hop ?? how.window ?? samples.length, lead: how.lead ?? 0, seconds: decoded.duration }, name: file.name };
}

// A state is zeros at first; the browser's worker carries it from call to call.
export async function carry(input, _, tools) {
  const shape = (input.shape ?? []).map((size) => size ?? 1);
  return { shape, data: tools.filled(input.type, new Array(tools.count(shape)).fill(0)), steps: [{ title: "State", words: `zeros at first, then ${input.carry} of the call before` }] };
}

// White space of ASCII, as bytes.strip of Python has it.
const isBlank = (byte) => byte === 32 || (byte >= 9 && byte <= 13);

// The bytes as numbers: `begin` first ones, `middle` ones, `end` last ones, each padded outwards.
export function bytesOf({ begin = 0, middle = 0, end = 0, strip = false, pad = 0 }, first, centre, last) {
  const head = strip ? first.subarray([...first].findIndex((byte) => !isBlank(byte)) >>> 0) : first;
  const tail = strip ? last.subarray(0, last.findLastIndex((byte) => !isBlank(byte)) + 1) : last;
  const numbers = new Array(begin + middle + end).fill(pad);
  head.subarray(0, begin).forEach((byte, at) => { numbers[at] = byte; });
  const left = begin + Math.floor((middle - centre.length) / 2);
  centre.forEach((byte, at) => { numbers[left + at] = byte; });
  const kept = tail.subarray(Math.max(0, tail.length - end));
  kept.forEach((byte, at) => { numbers[numbers.length - kept.length + at] = byte; });
  return numbers;
}

// Only the parts of the file that the model takes are read, however large it is.
export async function file(input, way, tools, _, source) {
  const chosen = source ?? way.querySelector('[data-set="file"]').files[0];
  if (!chosen) throw new Error("choose a file or drop one here");
  if (!chosen.size) throw new Error("the file is empty");
  const how = input.file;
  const slice = async (from, to) => new Uint8Array(await chosen.slice(Math.max(0, from), Math.max(0, to)).arrayBuffer());
  const [block, middle] = [how.block ?? Math.max(how.begin ?? 0, how.end ?? 0), how.middle ?? 0];
  const from = Math.max(0, Math.floor((chosen.size - middle) / 2));
  const numbers = bytesOf(how, await slice(0, block), middle ? await slice(from, from + middle) : new Uint8Array(), await slice(chosen.size - block, chosen.size));
  const parts = [[how.begin, "the first"], [how.middle, "of the middle"], [how.end, "the last"]].filter(([size]) => size);
  const steps = [
    { title: "Read", words: `${chosen.name}, ${chosen.size} bytes` },
    { title: "Bytes", words: `${parts.map(([size, words]) => `${size} ${words}`).join(", ")}${how.strip ? ", without white space at both ends" : ""}; missing ones are ${how.pad ?? 0}` },
  ];
  return { shape: shapeOf(input, numbers.length), data: tools.filled(input.type, numbers), steps, name: chosen.name };
}

// What a person gives -> the tensor that the model takes, with every step on the way in words.

const field = (way, name) => way.querySelector(`[data-set="${name}"]`);
const numbers = (text) => text.split(/[\s,;]+/).filter(Boolean).map(Number);
const each = (list, place, rest) => (list.length ? list[place % list.length] : rest);

// A shape with its free sizes filled in.
function sized(shape, free = 1) {
  return (shape ?? []).map((size) => size ?? free);
}

function layoutOf(shape) {
  const sizes = shape.length === 4 ? shape.slice(1) : shape;
  return [1, 3, 4].includes(sizes[0]) ? "CHW" : "HWC";
}

async function picture(input, way, tools) {
  const file = field(way, "file").files[0];
  if (!file) throw new Error("choose a picture");
  const drawn = await createImageBitmap(file);
  const steps = [{ title: "Decoded", words: `${drawn.width} × ${drawn.height} pixels, 8-bit RGB` }];
  const layout = layoutOf(input.shape);
  const plane = input.shape.length === 4 ? input.shape.slice(1) : input.shape;
  const channels = layout === "CHW" ? plane[0] : plane[2];
  const width = Number(field(way, "width").value) || drawn.width;
  const height = Number(field(way, "height").value) || drawn.height;
  const fit = field(way, "fit").value;
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.imageSmoothingQuality = "high";
  const ratio = fit === "stretch" ? 0 : Math[fit === "cover" ? "max" : "min"](width / drawn.width, height / drawn.height);
  const [wide, high] = ratio ? [drawn.width * ratio, drawn.height * ratio] : [width, height];
  context.drawImage(drawn, (width - wide) / 2, (height - high) / 2, wide, high);
  const fits = { stretch: "stretched", cover: "scaled to cover and cut at the middle", contain: "scaled to fit on black" };
  steps.push({ title: "Resized", words: `${width} × ${height}, ${fits[fit]}`, canvas });
  const pixels = context.getImageData(0, 0, width, height).data;
  const order = channels === 1 ? "grey" : field(way, "channels").value;
  const pick = { RGB: [0, 1, 2, 3], BGR: [2, 1, 0, 3] }[order] ?? [0];
  steps.push({ title: "Channels", words: order === "grey" ? "one, grey: 0.299 R + 0.587 G + 0.114 B" : `${channels}, ${order}` });
  const [scale, mean, std] = ["scale", "mean", "std"].map((name) => numbers(field(way, name).value));
  steps.push({ title: "Values", words: `0 to 255, times ${each(scale, 0, 1)}${mean.length ? `, minus ${mean.join(", ")}` : ""}${std.length ? `, divided by ${std.join(", ")}` : ""}` });
  const values = new Float64Array(width * height * channels);
  for (let place = 0; place < width * height; place += 1) {
    for (let channel = 0; channel < channels; channel += 1) {
      const at = 4 * place;
      const raw = order === "grey" ? 0.299 * pixels[at] + 0.587 * pixels[at + 1] + 0.114 * pixels[at + 2] : pixels[at + pick[channel]];
      const target = layout === "CHW" ? channel * width * height + place : place * channels + channel;
      values[target] = (raw * each(scale, channel, 1) - each(mean, channel, 0)) / each(std, channel, 1);
    }
  }
  const inner = layout === "CHW" ? [channels, height, width] : [height, width, channels];
  const shape = input.shape.length === 4 ? [1, ...inner] : inner;
  steps.push({ title: "Laid out", words: `${shape.length === 4 ? "N" : ""}${layout}` });
  const exact = input.type.startsWith("uint") ? values.map((value) => Math.max(0, Math.min(255, Math.round(value)))) : values;
  return { shape, data: tools.filled(input.type, exact), steps };
}

async function sound(input, way, tools) {
  const file = field(way, "file").files[0];
  if (!file) throw new Error("choose a sound");
  const rate = Number(field(way, "rate").value);
  if (!(rate >= 3000 && rate <= 768000)) throw new Error("say how many samples a second the model takes");
  const length = await file.arrayBuffer();
  const decoded = await new OfflineAudioContext(1, 1, rate).decodeAudioData(length);
  const steps = [{ title: "Decoded", words: `${decoded.duration.toFixed(2)} s, ${decoded.numberOfChannels} channel${decoded.numberOfChannels === 1 ? "" : "s"}, resampled to ${rate} Hz` }];
  const mixed = new Float64Array(decoded.length);
  for (let channel = 0; channel < decoded.numberOfChannels; channel += 1) {
    decoded.getChannelData(channel).forEach((value, place) => { mixed[place] += value / decoded.numberOfChannels; });
  }
  if (decoded.numberOfChannels > 1) steps.push({ title: "Mixed", words: "the mean of all channels" });
  const wanted = (input.shape ?? [null]).at(-1);
  let values = mixed;
  if (wanted && wanted !== mixed.length) {
    values = new Float64Array(wanted);
    values.set(mixed.subarray(0, wanted));
    steps.push({ title: wanted < mixed.length ? "Cut" : "Padded", words: `${wanted} samples${wanted < mixed.length ? ", the first" : ", silence at the end"}` });
  }
  const shape = [...Array(Math.max(0, (input.shape?.length ?? 1) - 1)).fill(1), values.length];
  return { shape, data: tools.filled(input.type, values), steps };
}

function text(input, way) {
  const lines = field(way, "text").value.split("\n").map((line) => line.trim()).filter(Boolean);
  if (!lines.length) throw new Error("write a line of text");
  const rank = input.shape?.length ?? 1;
  const shape = rank ? [lines.length, ...Array(rank - 1).fill(1)] : [];
  return { shape, data: lines, steps: [{ title: "Split", words: `${lines.length} line${lines.length === 1 ? "" : "s"}, one string each` }] };
}

function table(input, way, tools) {
  const rows = field(way, "table").value.trim().split("\n").filter((row) => row.trim()).map((row) => numbers(row));
  if (!rows.length) throw new Error("write a row of numbers");
  const columns = input.shape[1];
  const wrong = rows.findIndex((row) => row.length !== columns || row.some(Number.isNaN));
  if (wrong >= 0) throw new Error(`row ${wrong + 1} has ${rows[wrong].length} numbers; the model takes ${columns}`);
  const steps = [{ title: "Read", words: `${rows.length} row${rows.length === 1 ? "" : "s"} of ${columns} numbers` }];
  return { shape: [rows.length, columns], data: tools.filled(input.type, rows.flat()), steps };
}

async function tensor(input, way, tools) {
  const file = field(way, "npy").files[0];
  const written = field(way, "json").value.trim();
  if (file) {
    const read = tools.fromNpy(await file.arrayBuffer());
    if (read.type !== input.type) throw new Error(`the file holds ${read.type}, and the model takes ${input.type}`);
    return { ...read, steps: [{ title: "Read", words: file.name }] };
  }
  if (!written) throw new Error("give a .npy file or JSON");
  return { ...tools.fromJson(written, input.type), steps: [{ title: "Read", words: "nested lists of JSON" }] };
}

// Values that mean nothing, for whoever only wants to see it run: the same each time.
export function made(input, what) {
  const shape = sized(input.shape);
  const size = shape.reduce((all, one) => all * one, 1);
  if (size > 20000) throw new Error("too many values to be written here; give a .npy file");
  let seed = 20240611;
  const random = () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed / 2 ** 32;
  };
  const real = input.type.startsWith("float");
  const values = Array.from({ length: size }, () => (what === "zeros" ? 0 : real ? Number(random().toFixed(4)) : Math.floor(random() * 2)));
  const nest = (list, sizes) => (sizes.length < 2 ? list : Array.from({ length: sizes[0] }, (_, at) => nest(list.slice((at * list.length) / sizes[0], ((at + 1) * list.length) / sizes[0]), sizes.slice(1))));
  return JSON.stringify(shape.length ? nest(values, shape) : values[0]);
}

const WAYS = { picture, sound, text, table, tensor };

export async function gather(input, kind, way, tools) {
  const found = await WAYS[kind](input, way, tools);
  if (input.shape && input.shape.length !== found.shape.length) throw new Error(`it has ${found.shape.length} dimensions, and the model takes ${input.shape.length}`);
  const off = (input.shape ?? []).findIndex((size, at) => size !== null && size !== found.shape[at]);
  if (off >= 0) throw new Error(`its size ${off + 1} is ${found.shape[off]}, and the model takes ${input.shape[off]}`);
  return { name: input.name, type: input.type, ...found };
}

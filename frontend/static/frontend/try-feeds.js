// What a person gives -> the tensor that the model takes, with every step on the way in words.

const field = (way, name) => way.querySelector(`[data-set="${name}"]`);
const numbers = (text) => text.split(/[\s,;]+/).filter(Boolean).map(Number);
// A shape with its free sizes filled in.
function sized(shape, free = 1) {
  return (shape ?? []).map((size) => size ?? free);
}

// What the fields say of a picture: a step that is empty is named, since none is guessed.
const ASKED = { channels: "channels", polarity: "what the model expects", mode: "fit", interpolation: "interpolation", scale: "values", layout: "layout" };
function settings(set) {
  const said = (name) => field(set, name).value.trim();
  const missing = Object.keys(ASKED).filter((name) => !said(name));
  const polar = said("polarity") && said("polarity") !== "none";
  const names = missing.map((name) => ASKED[name]);
  if (polar && !said("own")) names.unshift("whether this image is light on dark");
  if (names.length) {
    set.open = true;
    throw new Error(`choose ${names.join(", ")}; the model does not declare it`);
  }
  const whole = (name, only = true) => {
    if (!only || !said(name)) return undefined;
    const value = Number(said(name));
    if (!Number.isInteger(value) || value < 0 || value > 16384) throw new Error(`${said(name)} is not a whole number of pixels`);
    return value;
  };
  const depth = said("channels") === "grey" ? 1 : 3;
  const list = (name) => {
    const values = numbers(said(name));
    if (values.some(Number.isNaN) || ![0, 1, depth].includes(values.length)) throw new Error(`the ${name === "mean" ? "mean" : "deviation"} needs one number, or one for each of ${depth} channels`);
    return values.length === 1 ? Array(depth).fill(values[0]) : values;
  };
  return {
    channels: said("channels"), mode: said("mode"), interpolation: said("interpolation"), scale: said("scale"), layout: said("layout"),
    width: whole("width"), height: whole("height"), shortest_edge: whole("shortest_edge", said("mode") === "crop"), pad: whole("pad", said("mode") === "letterbox") ?? 0,
    trim: Boolean(polar && field(set, "trim")?.checked), dark: said("polarity") === "dark-on-light",
    invert: polar && said("own") !== said("polarity"), own: said("own"), wanted: said("polarity"), detected: said("own") === field(set, "own").dataset.detected, mean: list("mean"), std: list("std"),
  };
}

// Shows the fields that the others make sense of: a crop's edge, a letterbox's grey, a polarity.
export function tidy(set) {
  if (!set) return;
  const inked = field(set, "polarity").value.includes("-on-");
  const wanted = { shortest_edge: field(set, "mode").value === "crop", pad: field(set, "mode").value === "letterbox", own: inked, trim: inked };
  for (const [name, shown] of Object.entries(wanted)) {
    const label = field(set, name)?.closest("label");
    if (label) label.hidden = !shown;
  }
}

// The pixels of a picture file, as the page sees them.
async function pixelsOf(file) {
  const drawn = await createImageBitmap(file, { premultiplyAlpha: "none", colorSpaceConversion: "none" });
  const { width, height } = drawn;
  const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  context.drawImage(drawn, 0, 0);
  return { pixels: context.getImageData(0, 0, width, height).data, width, height };
}

// Strokes that fill less of a picture are trimmed to.
const FILLS = 0.85;

// Fills in what a picture suggests of its polarity and trim, unless its reader chose before; gives
// the reason in words, empty where nothing is suggested. A later choice goes before it.
export async function propose(set, file, tools) {
  const own = field(set, "own"), trim = field(set, "trim");
  if (!field(set, "polarity").value.includes("-on-")) return "";
  if (own.value && own.value !== own.dataset.detected) return "";
  const { pixels, width, height } = await pixelsOf(file);
  const found = tools.suggestion(pixels, width, height);
  own.dataset.detected = own.value = found?.own ?? "";
  if (trim) trim.checked = Boolean(found && found.fills < FILLS);
  if (!found) return "The image has too little contrast to tell whether it is dark on light.";
  const ground = `Detected: ${found.own.replaceAll("-", " ")}, as the border is ${found.own === "dark-on-light" ? "light" : "dark"} (${found.ground} of 255)`;
  const share = `${Math.round(100 * found.fills)} % of the image`;
  return `${ground}${trim?.checked ? `; trimmed, as the strokes fill ${share}` : ""}. You can change it under Preprocessing.`;
}

// The fields of a picture with who said each: what stands as it is declared, and what was chosen.
export function chosen(set) {
  return [...set.querySelectorAll("[data-title]")].flatMap((one) => {
    const value = one.value.trim();
    const idle = one.dataset.set === "own" && !set.querySelector('[data-set="polarity"]').value.includes("-on-");
    const other = { shortest_edge: "crop", pad: "letterbox" }[one.dataset.set];
    if (!value || idle || (other && field(set, "mode").value !== other)) return [];
    const words = one.selectedOptions ? one.selectedOptions[0].textContent : value;
    return [{ title: one.dataset.title, words, from: value === one.dataset.detected ? "detection" : value === one.dataset.declared && one.dataset.from ? one.dataset.from : "your choice" }];
  });
}

// The 8-bit planes that the model sees, as a canvas.
function seen({ planes, width, height }, channels) {
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width, height });
  const image = new ImageData(width, height);
  const [r, g, b] = planes.length === 1 ? [0, 0, 0] : channels === "BGR" ? [2, 1, 0] : [0, 1, 2];
  for (let at = 0; at < width * height; at += 1) image.data.set([planes[r][at], planes[g][at], planes[b][at], 255], 4 * at);
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

async function picture(input, way, tools, set, source) {
  const file = source ?? field(way, "file").files[0];
  if (!file) throw new Error(way.querySelector("[data-draw]") ? "draw something or choose an image" : "choose an image");
  const how = settings(set);
  const { pixels, width, height } = await pixelsOf(file);
  const made = tools.prepare(pixels, width, height, how);
  const steps = [
    { title: "Decoded", words: `${file.name}, ${width} × ${height} pixels, 8-bit RGB` },
    { title: "Channels", words: how.channels === "grey" ? "one, grey: 0.299 R + 0.587 G + 0.114 B" : `3, ${how.channels}` },
  ];
  if (how.invert) steps.push({ title: "Inverted", words: `255 minus each value: ${how.detected ? "the image is" : "you chose"} ${how.own.replaceAll("-", " ")}, the model expects ${how.wanted.replaceAll("-", " ")}` });
  if (how.trim) steps.push({ title: "Trimmed", words: `the square around the strokes, ${made.source} × ${made.source}` });
  const fits = { stretch: "stretched", letterbox: `entire image, on grey ${how.pad}`, crop: "centre" };
  steps.push({ title: "Resized", words: `${made.width} × ${made.height}, ${fits[how.mode]}, ${how.interpolation}` });
  const scales = { "0-255": "unchanged", "0-1": "divided by 255", "-1-1": "divided by 127.5, minus 1" };
  steps.push({ title: "Values", words: `0 to 255 ${scales[how.scale] ?? `times ${how.scale}`}${how.mean.length ? `, minus ${how.mean.join(", ")}` : ""}${how.std.length ? `, divided by ${how.std.join(", ")}` : ""}` });
  steps.push({ title: "Layout", words: how.layout });
  return { shape: made.shape, data: tools.filled(input.type, tools.rounded(input.type, made.values)), steps, canvas: seen(made, how.channels), chosen: chosen(set), name: file.name, trim: how.trim };
}

function text(input, way) {
  const lines = field(way, "text").value.split("\n").map((line) => line.trim()).filter(Boolean);
  if (!lines.length) throw new Error("enter a line of text");
  const rank = input.shape?.length ?? 1;
  const shape = rank ? [lines.length, ...Array(rank - 1).fill(1)] : [];
  return { shape, data: lines, steps: [{ title: "Split", words: `${lines.length} line${lines.length === 1 ? "" : "s"}, one string each` }] };
}

function table(input, way, tools) {
  const columns = input.shape[1];
  const cells = [...way.querySelectorAll("[data-cell]")];
  const text = field(way, "table").value.trim();
  if (cells.length && !text) {
    const wrong = cells.find((cell) => !cell.value.trim() || Number.isNaN(Number(cell.value)) && cell.value.trim() !== "NaN");
    if (wrong) {
      wrong.focus();
      throw new Error(`enter a number for ${wrong.closest("label").innerText.trim()}`);
    }
    const steps = [{ title: "Read", words: `${columns} fields as one row` }];
    return { shape: [1, columns], data: tools.filled(input.type, cells.map((cell) => Number(cell.value))), steps };
  }
  const rows = text.split("\n").filter((row) => row.trim()).map((row) => numbers(row));
  if (!rows.length) throw new Error("enter a row of numbers");
  const wrong = rows.findIndex((row) => row.length !== columns || row.some(Number.isNaN));
  if (wrong >= 0) throw new Error(`row ${wrong + 1} has ${rows[wrong].length} numbers; the model expects ${columns}`);
  const steps = [{ title: "Read", words: `${rows.length} row${rows.length === 1 ? "" : "s"} of ${columns} numbers` }];
  return { shape: [rows.length, columns], data: tools.filled(input.type, rows.flat()), steps };
}

async function tensor(input, way, tools) {
  const file = field(way, "npy").files[0];
  const written = field(way, "json").value.trim();
  if (file) {
    const read = tools.fromNpy(await file.arrayBuffer());
    if (read.type !== input.type) throw new Error(`the file contains ${read.type}, but the model expects ${input.type}`);
    return { ...read, steps: [{ title: "Read", words: file.name }] };
  }
  if (!written) throw new Error("choose an .npy file or enter JSON");
  return { ...tools.fromJson(written, input.type), steps: [{ title: "Read", words: "nested JSON lists" }] };
}

// Values that mean nothing, for whoever only wants to see it run: the same each time.
export function made(input, what) {
  const shape = sized(input.shape);
  const size = shape.reduce((all, one) => all * one, 1);
  if (size > 20000) throw new Error("too many values for this field; choose an .npy file");
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

const WAYS = { picture, text, table, tensor };
// Only pages of models that take sound or files load this.
const SIGNALS = ["sound", "file", "carry"];

// `set` holds the steps of a picture, `source` what a drawing, the camera or the microphone gave.
export async function gather(input, kind, way, tools, set, source) {
  const ways = SIGNALS.includes(kind) ? await import(document.getElementById("try").dataset.signals) : WAYS;
  const { name: file, ...found } = await ways[kind](input, way, tools, set, source);
  if (input.shape && input.shape.length !== found.shape.length) throw new Error(`the input has ${found.shape.length} dimensions, but the model expects ${input.shape.length}`);
  const off = (input.shape ?? []).findIndex((size, at) => size !== null && size !== found.shape[at]);
  if (off >= 0) throw new Error(`dimension ${off + 1} is ${found.shape[off]}, but the model expects ${input.shape[off]}`);
  return { type: input.type, ...found, name: input.name, kind, file };
}

// A row of a table back into its fields; of text into its lines. Whether there is such a place.
export function refill(way, tensor, tools) {
  const cells = way.querySelectorAll("[data-cell]");
  if (way.dataset.way === "text") field(way, "text").value = tensor.data.join("\n");
  else if (cells.length === tensor.data.length) {
    const values = tools.nested(tensor).flat();
    cells.forEach((cell, at) => { cell.value = Number.isNaN(values[at]) ? "NaN" : String(values[at]); });
    field(way, "table").value = "";
  } else return false;
  return true;
}

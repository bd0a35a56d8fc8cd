// A picture's pixels -> the values of a tensor, by the same steps as runners/engine/runs/pictures.py.

// Name -> factor and offset on values of 0 to 255; another name is a factor.
const SCALES = { "0-255": [1, 0], "0-1": [1 / 255, 0], "-1-1": [2 / 255, -1] };

// Half-width and weight of each filter, in pixels of the coarser grid.
const sinc = (x) => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x));
const FILTERS = {
  box: [0.5, (x) => (x > -0.5 && x <= 0.5 ? 1 : 0)],
  bilinear: [1, (x) => Math.max(0, 1 - Math.abs(x))],
  bicubic: [2, (x) => {
    const d = Math.abs(x);
    if (d < 1) return (1.5 * d - 2.5) * d * d + 1;
    return d < 2 ? ((d - 5) * d + 8) * d * -0.5 + 2 : 0;
  }],
  lanczos: [3, (x) => (x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0)],
};
// Weights are whole multiples of 2^-22, so that every machine rounds alike.
const ONE = 2 ** 22;

// For each pixel of an edge of `to` pixels: where its source begins, and the weights from there.
function weights(from, to, name) {
  const [half, filter] = FILTERS[name];
  const ratio = from / to;
  const spread = Math.max(1, ratio);
  const reach = half * spread;
  return Array.from({ length: to }, (_, place) => {
    const centre = (place + 0.5) * ratio;
    const first = Math.max(0, Math.trunc(centre - reach + 0.5));
    const end = Math.min(from, Math.trunc(centre + reach + 0.5));
    const raw = [];
    let sum = 0;
    for (let at = first; at < end; at += 1) {
      const weight = filter((at - centre + 0.5) * (1 / spread));
      raw.push(weight);
      sum += weight;
    }
    return { first, weights: raw.map((weight) => Math.trunc((sum === 0 ? weight : weight / sum) * ONE + (weight < 0 ? -0.5 : 0.5))) };
  });
}

// One edge of a plane resampled; `step` and `line` say how far neighbours and lines lie apart.
function pass(source, from, to, lines, name, across) {
  const made = new Uint8ClampedArray(to * lines);
  const rows = weights(from, to, name);
  for (let line = 0; line < lines; line += 1) {
    for (let place = 0; place < to; place += 1) {
      const { first, weights: row } = rows[place];
      let sum = ONE / 2;
      for (let at = 0; at < row.length; at += 1) sum += row[at] * source[across ? line * from + first + at : (first + at) * lines + line];
      const value = Math.max(0, Math.min(255, Math.floor(sum / ONE)));
      made[across ? line * to + place : place * lines + line] = value;
    }
  }
  return made;
}

// The source of each pixel; the sum grows step by step, since rounding decides at the middle of two.
function nearest(from, to) {
  const ratio = from / to;
  let sum = ratio * 0.5;
  return Array.from({ length: to }, () => {
    const at = Math.floor(sum);
    sum += ratio;
    return at;
  });
}

function resample(plane, width, height, toWidth, toHeight, name) {
  if (width === toWidth && height === toHeight) return plane;
  if (name === "nearest") {
    const [columns, rows] = [nearest(width, toWidth), nearest(height, toHeight)];
    return Uint8ClampedArray.from({ length: toWidth * toHeight }, (_, at) => plane[rows[Math.floor(at / toWidth)] * width + columns[at % toWidth]]);
  }
  const wide = width === toWidth ? plane : pass(plane, width, toWidth, height, name, true);
  return height === toHeight ? wide : pass(wide, height, toHeight, toWidth, name, false);
}

// Width and height of the tensor: where the ratio is kept and one edge is given, the other follows.
function sizeOf(width, height, how) {
  const wide = how.width ?? undefined, high = how.height ?? undefined;
  if (how.mode !== "stretch" && wide === undefined && high !== undefined) return [Math.max(1, Math.floor((2 * width * high + height) / (2 * height))), high];
  if (how.mode !== "stretch" && high === undefined && wide !== undefined) return [wide, Math.max(1, Math.floor((2 * height * wide + width) / (2 * width)))];
  return [wide ?? width, high ?? height];
}

// Width and height before padding or cropping: as hub.protocol.inputs.Picture.scaled has it.
export function scaledSize(width, height, how) {
  const [toWidth, toHeight] = sizeOf(width, height, how);
  if (how.mode === "stretch") return [toWidth, toHeight];
  if (how.mode === "crop" && how.shortest_edge) {
    const edge = how.shortest_edge;
    return width <= height ? [edge, Math.floor((edge * height) / width)] : [Math.floor((edge * width) / height), edge];
  }
  const byWidth = (toWidth * height <= toHeight * width) === (how.mode === "letterbox");
  if (byWidth) return [toWidth, Math.max(1, Math.floor((2 * height * toWidth + width) / (2 * width)))];
  return [Math.max(1, Math.floor((2 * width * toHeight + height) / (2 * height))), toHeight];
}

// The planes of a picture, one for each channel: what is transparent is on white.
function planes(rgba, channels, invert) {
  const size = rgba.length / 4;
  const made = Array.from({ length: channels === "grey" ? 1 : 3 }, () => new Uint8ClampedArray(size));
  for (let place = 0; place < size; place += 1) {
    const alpha = rgba[4 * place + 3];
    const [r, g, b] = [0, 1, 2].map((at) => (alpha === 255 ? rgba[4 * place + at] : Math.floor((rgba[4 * place + at] * alpha + 255 * (255 - alpha) + 127) / 255)));
    const row = channels === "grey" ? [(r * 19595 + g * 38470 + b * 7471 + 0x8000) >> 16] : channels === "BGR" ? [b, g, r] : [r, g, b];
    row.forEach((value, at) => { made[at][place] = invert ? 255 - value : value; });
  }
  return made;
}

// Part of a plane, or a plane within a larger one of one grey level.
function placed(plane, [width, height], toWidth, toHeight, mode, pad) {
  if (width === toWidth && height === toHeight) return plane;
  const crop = mode === "crop";
  const left = Math.floor((crop ? width - toWidth : toWidth - width) / 2);
  const top = Math.floor((crop ? height - toHeight : toHeight - height) / 2);
  const made = new Uint8ClampedArray(toWidth * toHeight).fill(pad);
  for (let y = 0; y < (crop ? toHeight : height); y += 1) {
    for (let x = 0; x < (crop ? toWidth : width); x += 1) {
      if (crop) made[y * toWidth + x] = plane[(y + top) * width + x + left];
      else made[(y + top) * toWidth + x + left] = plane[y * width + x];
    }
  }
  return made;
}

// The square around the strokes: what is nearer to their level than to the ground's. `dark`: whether
// the strokes are darker than the ground.
function trimmed(plane, width, height, dark) {
  let low = 255, high = 0;
  for (const value of plane) { low = Math.min(low, value); high = Math.max(high, value); }
  let [left, top, right, bottom] = [width, height, -1, -1];
  for (let at = 0; at < plane.length; at += 1) {
    const ink = dark ? 2 * plane[at] < low + high : 2 * plane[at] > low + high;
    if (!ink) continue;
    const x = at % width, y = Math.floor(at / width);
    left = Math.min(left, x); right = Math.max(right, x); top = Math.min(top, y); bottom = Math.max(bottom, y);
  }
  if (right < 0) throw new Error("the image shows no strokes");
  const edge = Math.max(right - left, bottom - top) + 1;
  const fromX = Math.floor((left + right + 1 - edge) / 2), fromY = Math.floor((top + bottom + 1 - edge) / 2);
  const made = new Uint8ClampedArray(edge * edge).fill(dark ? high : low);
  for (let y = Math.max(0, -fromY); y < Math.min(edge, height - fromY); y += 1) {
    for (let x = Math.max(0, -fromX); x < Math.min(edge, width - fromX); x += 1) made[y * edge + x] = plane[(y + fromY) * width + x + fromX];
  }
  return { plane: made, edge };
}

// What a picture itself suggests of its strokes, or undefined where it has too little contrast: its
// polarity from the level of its outermost pixels, and how much of it the strokes fill.
const LEAST_CONTRAST = 48;
export function suggestion(rgba, width, height) {
  const [plane] = planes(rgba, "grey", false);
  let low = 255, high = 0, sum = 0, count = 0;
  for (let at = 0; at < plane.length; at += 1) {
    low = Math.min(low, plane[at]);
    high = Math.max(high, plane[at]);
    const x = at % width, y = Math.floor(at / width);
    if (x && y && x < width - 1 && y < height - 1) continue;
    sum += plane[at];
    count += 1;
  }
  if (high - low < LEAST_CONTRAST) return undefined;
  const ground = sum / count;
  const dark = 2 * ground > low + high;
  const { edge } = trimmed(plane, width, height, dark);
  return { own: dark ? "dark-on-light" : "light-on-dark", ground: Math.round(ground), fills: edge / Math.max(width, height) };
}

// `how` is a hub.protocol.inputs.Picture whose scale is a name. Gives the 8-bit planes that
// the model sees, their size, and the values (doubles) with the shape of the tensor.
export function prepare(rgba, width, height, how) {
  let raw = planes(rgba, how.channels, how.invert);
  if (how.trim && raw.length === 1) {
    const { plane, edge } = trimmed(raw[0], width, height, how.dark);
    raw = [plane];
    width = height = edge;
  }
  const [toWidth, toHeight] = sizeOf(width, height, how);
  const scaled = scaledSize(width, height, how);
  const seen = raw.map((plane) => placed(resample(plane, width, height, ...scaled, how.interpolation), scaled, toWidth, toHeight, how.mode, how.pad ?? 0));
  const size = toWidth * toHeight;
  const depth = seen.length;
  const values = new Float64Array(size * depth);
  const first = how.layout.endsWith("CHW");
  const [factor, offset] = SCALES[how.scale] ?? [Number(how.scale), 0];
  seen.forEach((plane, channel) => {
    const mean = how.mean?.length ? how.mean[channel] : 0, std = how.std?.length ? how.std[channel] : 1;
    for (let place = 0; place < size; place += 1) {
      values[first ? channel * size + place : place * depth + channel] = (plane[place] * factor + offset - mean) / std;
    }
  });
  const inner = first ? [depth, toHeight, toWidth] : [toHeight, toWidth, depth];
  return { planes: seen, width: toWidth, height: toHeight, source: width, values, shape: how.layout.startsWith("N") ? [1, ...inner] : inner };
}

// Whole numbers, half to even, within the type: what integer tensors hold.
const LIMITS = { uint8: [0, 255], int8: [-128, 127], uint16: [0, 65535], int16: [-32768, 32767], uint32: [0, 4294967295], int32: [-2147483648, 2147483647] };
export function rounded(type, values) {
  if (!/^u?int/.test(type)) return values;
  const [low, high] = LIMITS[type] ?? [-(2 ** 53), 2 ** 53];
  return values.map((value) => {
    const below = Math.floor(value), over = value - below;
    const near = over > 0.5 || (over === 0.5 && below % 2 !== 0) ? below + 1 : below;
    return Math.max(low, Math.min(high, near));
  });
}

// Outputs with the shape of a picture, drawn by the rules of runners/engine/runs/pictures.py.

const LEAST = 16, MOST = 8192;

// Sizes and order of the one picture that a shape may be; undefined where it is none.
export function planeOf(shape, least = LEAST) {
  const sizes = [...shape];
  while (sizes.length > 3 && sizes[0] === 1) sizes.shift();
  if (sizes.length === 2) sizes.unshift(1);
  if (sizes.length !== 3) return undefined;
  for (const order of ["CHW", "HWC"]) {
    const [channels, height, width] = order === "CHW" ? sizes : [sizes[2], sizes[0], sizes[1]];
    if ([1, 3].includes(channels) && [height, width].every((edge) => edge >= least && edge <= MOST)) return { order, channels, height, width };
  }
  return undefined;
}

// The colour of a class: 0 is black, neighbours differ by a golden angle of hue.
function colour(number) {
  if (number % 256 === 0) return [0, 0, 0];
  const hue = ((number * 137.508) % 360) / 60;
  const middle = Math.trunc(200 * (1 - Math.abs((hue % 2) - 1)) + 40);
  return [[240, middle, 40], [middle, 240, 40], [40, 240, middle], [40, middle, 240], [middle, 40, 240], [240, 40, middle]][Math.trunc(hue)];
}

// A canvas and the words that say how values became shades; undefined for what is no picture.
export function draw(tensor, number, figure, least) {
  const plane = planeOf(tensor.shape, least);
  if (!plane || tensor.type === "string") return undefined;
  const { order, channels, height, width } = plane;
  const size = height * width;
  const at = (place, channel) => number(tensor, order === "CHW" ? channel * size + place : place * channels + channel);
  let low = Infinity, high = -Infinity;
  for (let place = 0; place < tensor.data.length; place += 1) {
    const value = number(tensor, place);
    if (Number.isFinite(value)) { low = Math.min(low, value); high = Math.max(high, value); }
  }
  if (low > high) return undefined;
  const classes = channels === 1 && /^(u?int|bool)/.test(tensor.type) && tensor.type !== "uint8";
  const shade = tensor.type === "uint8" ? (value) => value : (value) => (255 * ((Number.isFinite(value) ? value : value > 0 ? high : low) - low)) / (high - low || 1);
  const image = new ImageData(width, height);
  for (let place = 0; place < size; place += 1) {
    const row = classes ? colour(((at(place, 0) % 256) + 256) % 256) : [0, 1, 2].map((channel) => Math.round(shade(at(place, channels === 1 ? 0 : channel))));
    image.data.set([...row, 255], 4 * place);
  }
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width, height });
  canvas.getContext("2d").putImageData(image, 0, 0);
  const how = tensor.type === "uint8" ? "raw 8-bit values" : classes ? "one colour per class, 0 is black" : `black is the lowest value, ${figure(low)}, white the highest, ${figure(high)}`;
  return { canvas, words: `${tensor.name} as an image of ${width} × ${height}: ${how}.` };
}

// Scores of classes for each pixel -> the class with the highest score, drawn; undefined for others.
export function mask(tensor, number, labels) {
  const [classes, height, width] = tensor.shape.slice(-3);
  if (tensor.shape.length !== 4 || tensor.shape[0] !== 1 || classes < 2 || height < LEAST || width < LEAST || !tensor.type.startsWith("float")) return undefined;
  if (labels.length && labels.length !== classes) return undefined;
  const size = height * width;
  const data = new Int32Array(size);
  const areas = new Array(classes).fill(0);
  for (let place = 0; place < size; place += 1) {
    let best = -Infinity;
    for (let one = 0; one < classes; one += 1) {
      const value = number(tensor, one * size + place);
      if (value > best) { best = value; data[place] = one; }
    }
    areas[data[place]] += 1;
  }
  const { canvas } = draw({ name: tensor.name, type: "int32", shape: [1, height, width], data }, (one, at) => one.data[at], String);
  const largest = areas.map((area, at) => [area, at]).filter(([area]) => area).sort((a, b) => b[0] - a[0]).slice(0, 5);
  const words = largest.map(([area, at]) => `${labels[at] ?? `class ${at}`} ${((100 * area) / size).toFixed(1)} %`).join(", ");
  return { canvas, words: `${tensor.name}: the class with the highest score for each pixel. ${words}.` };
}

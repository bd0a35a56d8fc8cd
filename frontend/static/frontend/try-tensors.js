// Tensors as a browser holds them: types, array files (.npy), JSON, and how far two answers lie apart.

const TYPES = {
  float32: [Float32Array, "<f4"], float64: [Float64Array, "<f8"], float16: [Uint16Array, "<f2"],
  int8: [Int8Array, "|i1"], int16: [Int16Array, "<i2"], int32: [Int32Array, "<i4"],
  int64: [BigInt64Array, "<i8"], uint8: [Uint8Array, "|u1"], uint16: [Uint16Array, "<u2"],
  uint32: [Uint32Array, "<u4"], uint64: [BigUint64Array, "<u8"], bool: [Uint8Array, "|b1"],
};
export const count = (shape) => shape.reduce((all, size) => all * size, 1);

// Half precision as bits, and back.
export function half(number) {
  const view = new DataView(new ArrayBuffer(4));
  view.setFloat32(0, number);
  const bits = view.getUint32(0);
  const sign = (bits >>> 16) & 0x8000;
  const rest = bits & 0x7fffffff;
  if (rest >= 0x7f800000) return sign | 0x7c00 | (rest > 0x7f800000 ? 0x200 : 0);
  if (rest >= 0x477ff000) return sign | 0x7c00;
  if (rest >= 0x38800000) return sign | ((rest - 0x38000000 + 0xfff + ((rest >>> 13) & 1)) >>> 13);
  if (rest < 0x33000000) return sign;
  const shift = 126 - (rest >>> 23);
  const whole = (rest & 0x7fffff) | 0x800000;
  const cut = whole >>> shift;
  const over = whole & ((1 << shift) - 1);
  const middle = 1 << (shift - 1);
  return sign | (cut + (over > middle || (over === middle && (cut & 1)) ? 1 : 0));
}
export function whole(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >>> 10) & 31;
  const rest = bits & 0x3ff;
  if (!exponent) return sign * rest * 2 ** -24;
  return exponent === 31 ? (rest ? NaN : sign * Infinity) : sign * (1024 + rest) * 2 ** (exponent - 25);
}

function converter(type) {
  if (type.endsWith("int64")) return (value) => BigInt(value);
  if (type === "bool") return (value) => (value ? 1 : 0);
  return type === "float16" ? half : Number;
}

// Numbers or words -> data of a type.
export function filled(type, values) {
  if (type === "string") return values.map(String);
  const [Kind] = TYPES[type];
  return Kind.from(values, converter(type));
}

// The data of a type from its bytes, little-endian as ONNX keeps them.
export function fromBytes(type, view) {
  const [Kind] = TYPES[type];
  return new Kind(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
}

// Nested lists with the shape of a tensor, for code; short decimals stand for 32-bit numbers.
export function nested(tensor) {
  const digits = { float32: 7, float16: 4 }[tensor.type];
  const plain = (at) => {
    if (tensor.type === "string") return tensor.data[at];
    const value = number(tensor, at);
    return digits ? Number(value.toPrecision(digits)) : value;
  };
  let list = Array.from({ length: tensor.data.length }, (_, at) => plain(at));
  for (const size of tensor.shape.slice(1).reverse()) list = Array.from({ length: list.length / size }, (_, at) => list.slice(at * size, (at + 1) * size));
  return tensor.shape.length ? list : list[0];
}

// The n-th value as a number, whatever the type.
export function number(tensor, place) {
  const value = tensor.data[place];
  return tensor.type === "float16" ? whole(value) : Number(value);
}

// Nested arrays of JSON -> a tensor; what is no array is a scalar.
export function fromJson(text, type) {
  const said = JSON.parse(text);
  const shape = [];
  for (let part = said; Array.isArray(part); part = part[0]) shape.push(part.length);
  const flat = Array.isArray(said) ? said.flat(Infinity) : [said];
  if (flat.length !== count(shape)) throw new Error("the rows of this JSON have different lengths");
  return { type, shape, data: filled(type, flat) };
}

export function toNpy(tensor) {
  const descr = TYPES[tensor.type][1];
  const sizes = tensor.shape.length === 1 ? `${tensor.shape[0]},` : tensor.shape.join(", ");
  let head = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${sizes}), }`;
  head = head.padEnd(Math.ceil((head.length + 11) / 64) * 64 - 11) + "\n";
  const bytes = new Uint8Array(10 + head.length);
  bytes.set([0x93, 78, 85, 77, 80, 89, 1, 0, head.length & 255, head.length >> 8]);
  bytes.set(new TextEncoder().encode(head), 10);
  return new Blob([bytes, tensor.data], { type: "application/octet-stream" });
}

export function fromNpy(buffer) {
  const bytes = new Uint8Array(buffer);
  if (String.fromCharCode(...bytes.slice(1, 6)) !== "NUMPY") throw new Error("this is not an .npy file");
  const view = new DataView(buffer);
  const long = bytes[6] > 1;
  const length = long ? view.getUint32(8, true) : view.getUint16(8, true);
  const start = (long ? 12 : 10) + length;
  const head = new TextDecoder("latin1").decode(bytes.slice(long ? 12 : 10, start));
  const descr = /'descr': *'([^']+)'/.exec(head)?.[1];
  const type = Object.keys(TYPES).find((name) => TYPES[name][1] === descr);
  const sizes = /'shape': *\(([^)]*)\)/.exec(head)?.[1];
  if (!type || sizes === undefined) throw new Error(`arrays of ${descr ?? "unknown type"} are not supported`);
  const shape = sizes.split(",").map((part) => part.trim()).filter(Boolean).map(Number);
  if (/'fortran_order': *True/.test(head) && shape.length > 1) throw new Error("the array is in Fortran order; save a C-ordered copy");
  const [Kind] = TYPES[type];
  if (buffer.byteLength - start < count(shape) * Kind.BYTES_PER_ELEMENT) throw new Error("the file is incomplete");
  return { type, shape, data: new Kind(buffer.slice(start, start + count(shape) * Kind.BYTES_PER_ELEMENT)) };
}

// Smallest, largest, mean of what is finite.
export function figures(tensor) {
  let least = Infinity, most = -Infinity, sum = 0, finite = 0;
  for (let place = 0; place < tensor.data.length; place += 1) {
    const value = number(tensor, place);
    if (!Number.isFinite(value)) continue;
    least = Math.min(least, value);
    most = Math.max(most, value);
    sum += value;
    finite += 1;
  }
  return finite ? { least, most, mean: sum / finite, finite } : { finite };
}

// One answer against another under a tolerance: |difference| <= atol * scale + rtol * |expected|.
export function apart(expected, actual, profile) {
  if (String(expected.shape) !== String(actual.shape)) return { agrees: false, words: `shapes differ: ${expected.shape} and ${actual.shape}` };
  const size = expected.data.length;
  let squares = 0, finite = 0;
  for (let place = 0; place < size; place += 1) {
    const value = number(expected, place);
    if (Number.isFinite(value)) { squares += value * value; finite += 1; }
  }
  const scale = Math.max(1, finite ? Math.sqrt(squares / finite) : 1);
  let largest = 0, outside = 0, dot = 0, left = 0, right = 0;
  for (let place = 0; place < size; place += 1) {
    const [a, b] = [number(expected, place), number(actual, place)];
    if (Object.is(a, b) || a === b) { dot += a * b; left += a * a; right += b * b; continue; }
    const distance = Math.abs(a - b);
    if (Number.isNaN(distance) || distance > profile.atol * scale + profile.rtol * Math.abs(a)) outside += 1;
    largest = Number.isNaN(distance) ? Infinity : Math.max(largest, distance);
    dot += a * b; left += a * a; right += b * b;
  }
  const alike = profile.cosine && dot / Math.sqrt(left * right || 1) >= profile.cosine;
  return { agrees: !outside || Boolean(alike), largest, outside, size };
}

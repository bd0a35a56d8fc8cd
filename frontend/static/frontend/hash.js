// SHA-256 of a file in a worker of its own, read in steps, so that a file of any size keeps the
// page awake and the memory small. FIPS 180-4; the browser's own digest wants the whole file at once.

const K = new Uint32Array(64);
const START = new Uint32Array(8);
{
  // The constants are the first 32 bits of the fractional parts of roots of the first primes.
  const fraction = (value) => Math.floor((value - Math.floor(value)) * 2 ** 32);
  let found = 0;
  for (let number = 2; found < 64; number++) {
    let prime = true;
    for (let divisor = 2; divisor * divisor <= number; divisor++) prime &&= number % divisor !== 0;
    if (!prime) continue;
    if (found < 8) START[found] = fraction(Math.sqrt(number));
    K[found++] = fraction(Math.cbrt(number));
  }
}

const state = new Uint32Array(8);
const words = new Uint32Array(64);

function block(bytes, at) {
  for (let i = 0; i < 16; i++, at += 4) {
    words[i] = (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
  }
  for (let i = 16; i < 64; i++) {
    const p = words[i - 15], q = words[i - 2];
    const s = ((p >>> 7) | (p << 25)) ^ ((p >>> 18) | (p << 14)) ^ (p >>> 3);
    const t = ((q >>> 17) | (q << 15)) ^ ((q >>> 19) | (q << 13)) ^ (q >>> 10);
    words[i] = (words[i - 16] + s + words[i - 7] + t) | 0;
  }
  let a = state[0], b = state[1], c = state[2], d = state[3];
  let e = state[4], f = state[5], g = state[6], h = state[7];
  for (let i = 0; i < 64; i++) {
    const s = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const x = (h + s + ((e & f) ^ (~e & g)) + K[i] + words[i]) | 0;
    const t = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const y = (t + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g; g = f; f = e; e = (d + x) | 0;
    d = c; c = b; b = a; a = (x + y) | 0;
  }
  state[0] += a; state[1] += b; state[2] += c; state[3] += d;
  state[4] += e; state[5] += f; state[6] += g; state[7] += h;
}

async function digest(file, told) {
  state.set(START);
  const step = 4 * 2 ** 20;
  for (let at = 0; ; at += step) {
    const part = new Uint8Array(await file.slice(at, at + step).arrayBuffer());
    const whole = part.length - (part.length % 64);
    for (let i = 0; i < whole; i += 64) block(part, i);
    if (at + step <= file.size && part.length === step) {
      told(at + step);
      continue;
    }
    const rest = part.subarray(whole);
    const tail = new Uint8Array(rest.length < 56 ? 64 : 128);
    tail.set(rest);
    tail[rest.length] = 0x80;
    const view = new DataView(tail.buffer);
    view.setUint32(tail.length - 8, Math.floor(file.size / 2 ** 29));
    view.setUint32(tail.length - 4, (file.size << 3) >>> 0);
    for (let i = 0; i < tail.length; i += 64) block(tail, i);
    return [...state].map((word) => word.toString(16).padStart(8, "0")).join("");
  }
}

addEventListener("message", async ({ data: file }) => {
  try {
    const sha256 = await digest(file, (done) => postMessage({ done }));
    postMessage({ sha256 });
  } catch (error) {
    postMessage({ error: String(error) });
  }
});

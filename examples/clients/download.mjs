// Finds a model, downloads its files by digest, continues broken downloads and verifies SHA-256.
// Node 18 or newer, no packages; a model's name does in place of words:
//   node download.mjs https://hub.example.org "words to search for" folder
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";

const [hub, words, folder] = process.argv.slice(2);

async function get(path, headers = {}) {
  const token = process.env.HF_TOKEN;
  if (token) headers.Authorization = `Bearer ${token}`;
  const answer = await fetch(hub + path, { headers });
  if (answer.ok) return answer;
  const problem = await answer.json().catch(() => null); // RFC 9457: the detail says what to do
  throw new Error(problem?.title ? `${problem.title}: ${problem.detail}` : `The hub answered ${answer.status}.`);
}

async function json(path) {
  return (await get(path)).json();
}

async function find() {
  if (/^[^\s/]+\/[^\s/]+$/.test(words)) return { ref: words, fits: [] };
  // The hub reads filters such as a task or a size from the question; the rest is searched for.
  const query = new URLSearchParams({ q: words, understand: true, limit: 1 });
  const { items } = await json(`/api/v1/models?${query}`);
  if (items.length === 0) throw new Error(`No model matches "${words}".`);
  const [{ namespace, name, fits }] = items;
  return { ref: `${namespace}/${name}`, fits: fits ?? [] };
}

async function sizeOf(path) {
  const found = await stat(path).catch(() => null);
  return found?.size ?? 0;
}

// Adds the bytes from `start` on to a partial file, or all of them where the hub sends all; returns
// why no more came.
async function receive(digest, part, start) {
  // The ETag of a file is its SHA-256.
  const headers = start > 0 ? { Range: `bytes=${start}-`, "If-Range": `"${digest}"` } : {};
  const answer = await get(`/api/v1/blobs/${digest}`, headers);
  const output = await open(part, answer.status === 206 ? "a" : "w");
  try {
    for await (const block of answer.body ?? []) await output.appendFile(block);
    return "the connection ended";
  } catch (error) {
    return error.message;
  } finally {
    await output.close();
  }
}

// The file gets its name once its digest is right.
async function save(file, target) {
  const digest = file.sha256.replace("sha256:", "");
  const part = `${target}.part`;
  await mkdir(dirname(target), { recursive: true });
  const start = await sizeOf(part);
  if (start === 0 || start < file.size) {
    const cause = await receive(digest, part, start);
    const size = await sizeOf(part);
    if (size < file.size) {
      throw new Error(
        `The download of ${target} broke after ${size} of ${file.size} bytes (${cause}). ` +
          "Run the same command again to continue it.",
      );
    }
  }
  const hash = createHash("sha256");
  await pipeline(createReadStream(part), hash);
  if (hash.digest("hex") !== digest) {
    await rm(part);
    throw new Error(`${target} does not have the digest of its version. Download it again.`);
  }
  await rename(part, target);
  console.log(`${digest}  ${file.path}`);
}

try {
  if (!folder) throw new Error("usage: node download.mjs HUB WORDS FOLDER");
  const { ref, fits } = await find();
  const version = await json(`/api/v1/resolve?ref=${encodeURIComponent(ref)}`);
  console.log(`${version.ref}, variant ${version.variant.name}`);
  for (const fit of fits) console.log(`${fit.constraint} ${fit.limit}: ${fit.value} (${fit.basis})`);
  for (const file of version.files) await save(file, join(folder, file.path));
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}

// Finds a model, downloads its files by digest and verifies them. Node 18 or newer, no packages:
//   node download.mjs https://hub.example.org "words to search for" folder
import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

const [hub, words, folder] = process.argv.slice(2);
const token = process.env.HF_TOKEN;

async function get(path) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const answer = await fetch(hub + path, { headers });
  if (!answer.ok) {
    const problem = await answer.json(); // RFC 9457
    throw new Error(`${problem.title}: ${problem.detail}`);
  }
  return answer;
}

// The hub reads filters such as a task or a size from the question; the rest is searched for.
const query = new URLSearchParams({ q: words, understand: true, limit: 1 });
const { items } = await (await get(`/api/v1/models?${query}`)).json();
if (items.length === 0) throw new Error(`No model matches "${words}".`);
const ref = `${items[0].namespace}/${items[0].name}`;
const version = await (await get(`/api/v1/resolve?ref=${encodeURIComponent(ref)}`)).json();
console.log(`${version.ref}, variant ${version.variant.name}`);
for (const fit of items[0].fits ?? []) {
  console.log(`${fit.constraint} ${fit.limit}: ${fit.value} (${fit.basis})`);
}

for (const file of version.files) {
  const digest = file.sha256.replace("sha256:", "");
  const content = Buffer.from(await (await get(`/api/v1/blobs/${digest}`)).arrayBuffer());
  if (createHash("sha256").update(content).digest("hex") !== digest) {
    throw new Error(`${file.path} is not what the hub names. Download it again.`);
  }
  const target = join(folder, file.path);
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, content);
  console.log(`${digest}  ${file.path}`);
}

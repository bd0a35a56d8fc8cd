// Writes with @huggingface/hub as a user does, reads back; prints what held, as JSON.
// Arguments: the hub's address, a token, the model to make, and a model file.
import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as hub from "@huggingface/hub";

const [hubUrl, accessToken, repo, path] = process.argv.slice(2);
const given = { repo, hubUrl, accessToken };
const weights = randomBytes(12_000_000);
const digest = (bytes) => createHash("sha256").update(bytes).digest("hex");
const read = async (path, revision = "main") => {
  const found = await hub.downloadFile({ ...given, path, revision });
  return found === null ? null : new Uint8Array(await found.arrayBuffer());
};
const fails = async (ask) => {
  try {
    await ask();
  } catch (error) {
    return error.statusCode ?? String(error);
  }
  return 200;
};

const made = await hub.createRepo(given);
const again = await fails(() => hub.createRepo(given));
const { commit } = await hub.uploadFiles({
  ...given,
  commitTitle: "All of it",
  files: [
    { path: "README.md", content: new Blob(["---\nlicense: mit\n---\n# Net\n"]) },
    { path: "model.onnx", content: new Blob([await readFile(path)]) },
    { path: "deep/w.bin", content: new Blob([weights]) },
    { path: "gone.txt", content: new Blob(["gone"]) },
  ],
});
await hub.deleteFile({ ...given, path: "gone.txt" });
await hub.uploadFile({ ...given, file: { path: "x.txt", content: new Blob(["x"]) } });
const same = digest(await read("deep/w.bin")) === digest(weights);
await hub.createBranch({ ...given, branch: "dev" });
await hub.uploadFile({
  ...given,
  branch: "dev",
  file: { path: "d.txt", content: new Blob(["d"]) },
});
const late = await fails(() =>
  hub.uploadFile({
    ...given,
    parentCommit: commit.oid,
    file: { path: "late.txt", content: new Blob(["late"]) },
  }),
);
const spare = `${repo}-spare`;
await hub.createRepo({ ...given, repo: spare, private: true });
const hidden = await hub.repoExists({ repo: spare, hubUrl });
await hub.deleteRepo({ ...given, repo: spare });

const dev = [(await read("d.txt", "dev")) !== null, (await read("d.txt")) !== null];
// What is left of a repository's life: progress, copies, branches that begin again, parts.
const events = new Set();
const blob = (text) => new Blob([text]);
const files = [{ path: "p.txt", content: blob("p") }];
for await (const one of hub.uploadFilesWithProgress({ ...given, files })) events.add(one.event);
const place = (path) => ({ repo: { type: "model", name: repo }, path });
await hub.copyFile({ ...given, source: place("p.txt"), destination: place("q.txt") });
const copied = new TextDecoder().decode(await read("q.txt"));
await hub.deleteFiles({ ...given, paths: ["p.txt", "q.txt"] });
await hub.createBranch({ ...given, branch: "dev", revision: "main", overwrite: true });
const restarted = (await read("d.txt", "dev")) === null;
await hub.createBranch({ ...given, branch: "bare", empty: true });
await hub.deleteBranch({ ...given, branch: "dev" });
const whole = await hub.downloadFile({ ...given, path: "deep/w.bin" });
const part = new Uint8Array(await whole.slice(5_000_000, 5_000_100).arrayBuffer());
const cacheDir = await mkdtemp(join(tmpdir(), "hub-js-"));
const cached = await hub.downloadFileToCacheDir({ ...given, path: "deep/w.bin", cacheDir });
await hub.checkRepoAccess({ ...given });
const refused = [];
for (const ask of [
  () => hub.commit({ ...given, title: "t", isPullRequest: true, operations: [] }),
  () => hub.listCollections({ hubUrl, accessToken }).next(),
  () => hub.listJobs({ hubUrl, accessToken, namespace: "zoo" }),
  () => hub.checkRepoAccess({ ...given, repo: "zoo/nope" }),
])
  refused.push(await fails(ask));
const { sha } = await hub.modelInfo({ name: repo, hubUrl, accessToken, additionalFields: ["sha"] });
console.log(
  JSON.stringify({
    url: made.repoUrl,
    again,
    oid: commit.oid.length,
    same,
    gone: (await read("gone.txt")) === null,
    x: new TextDecoder().decode(await read("x.txt")),
    dev,
    late,
    hidden,
    deleted: !(await hub.repoExists({ ...given, repo: spare })),
    progress: events.has("phase"),
    copied,
    restarted,
    part: digest(part) === digest(weights.subarray(5_000_000, 5_000_100)),
    cached: digest(await readFile(cached)) === digest(weights),
    refused,
    head: sha,
  }),
);

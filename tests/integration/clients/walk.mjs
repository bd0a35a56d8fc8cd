// Calls each exported function of @huggingface/hub that concerns repositories and users.
//
// Prints as JSON: function -> "works", "refused: STATUS MESSAGE" as the hub put it into words,
// "fault: …" for an answer without words, or "not called". Arguments: the hub's address, a token,
// the model to make, and the name of its owner.
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as hub from "@huggingface/hub";

const [hubUrl, accessToken, repo, owner] = process.argv.slice(2);
const given = { repo, hubUrl, accessToken };
// Other services, copies to buckets, helpers that ask no hub, and classes.
const OTHER_THINGS =
  /^[A-Z_]|Job|Bucket|Collection|space|Space|dataset|Dataset|oauth|scan|streamJson|copyFiles|copyFolder|Shard|Tensor|Quant/;
const LOCAL =
  /^(computeNum|getHFHubCachePath|getRepoFolderName|getBlobStat|globMatch|matches|parseRepoType|parseTotal|relativeUnder)/;
const cacheDir = await mkdtemp(join(tmpdir(), "hub-js-"));
const blob = (text) => new Blob([text]);
const all = async (rows) => {
  const list = [];
  for await (const row of rows) list.push(row);
  return list;
};
const place = (path) => ({ repo: { type: "model", name: repo }, path });
const expect = (holds, what) => {
  if (!holds) throw new Error(`unexpected: ${what}`);
};
const addition = (path, text) => ({ operation: "addOrUpdate", path, content: blob(text) });
// The start of a safetensors file: its length, then a header with one tensor of a number.
const header = JSON.stringify({ w: { dtype: "F32", shape: [1], data_offsets: [0, 4] } });
const length = new BigUint64Array([BigInt(header.length)]);
const tensors = new Blob([length, header, new Uint8Array(4)]);

const CALLS = {
  createRepo: () => hub.createRepo(given),
  whoAmI: async () => expect((await hub.whoAmI({ hubUrl, accessToken })).name === owner, "name"),
  uploadFile: () => hub.uploadFile({ ...given, file: { path: "a.txt", content: blob("a") } }),
  uploadFiles: () =>
    hub.uploadFiles({
      ...given,
      files: [
        { path: "sub/b.txt", content: blob("b") },
        { path: "sub/c.txt", content: blob("c") },
        { path: "model.safetensors", content: tensors },
      ],
    }),
  uploadFilesWithProgress: () =>
    all(hub.uploadFilesWithProgress({ ...given, files: [{ path: "p.txt", content: blob("p") }] })),
  commit: () => hub.commit({ ...given, title: "One", operations: [addition("one.txt", "1")] }),
  commitIter: () =>
    all(hub.commitIter({ ...given, title: "Two", operations: [addition("two.txt", "2")] })),
  copyFile: () => hub.copyFile({ ...given, source: place("a.txt"), destination: place("d.txt") }),
  copyFileIter: () =>
    all(hub.copyFileIter({ ...given, source: place("a.txt"), destination: place("e.txt") })),
  modelInfo: async () => {
    const info = await hub.modelInfo({ name: repo, hubUrl, accessToken });
    expect(info.name === repo, JSON.stringify(info));
  },
  // A list has a repository without a published version too, soon after it was made.
  listModels: async () => {
    const search = { owner: repo.split("/")[0] };
    for (let attempt = 0; attempt < 50; attempt++) {
      const rows = await all(hub.listModels({ search, hubUrl, accessToken }));
      if (rows.some((row) => row.name === repo)) return;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    expect(false, "not listed");
  },
  listFiles: async () => {
    const rows = await all(hub.listFiles({ ...given, recursive: true, expand: true }));
    expect(rows.some((row) => row.path === "sub/b.txt"), JSON.stringify(rows));
  },
  listCommits: async () => expect((await all(hub.listCommits(given))).length > 3, "commits"),
  countCommits: async () =>
    expect((await hub.countCommits({ ...given, revision: "main" })) > 3, "count"),
  repoExists: async () => expect(await hub.repoExists(given), "repository"),
  checkRepoAccess: () => hub.checkRepoAccess(given),
  fileExists: async () => expect(await hub.fileExists({ ...given, path: "a.txt" }), "a.txt"),
  pathsInfo: async () => {
    const rows = await hub.pathsInfo({ ...given, paths: ["a.txt", "sub"], expand: true });
    expect(rows.length === 2, JSON.stringify(rows));
  },
  fileDownloadInfo: async () =>
    expect((await hub.fileDownloadInfo({ ...given, path: "a.txt" })).size === 1, "size"),
  downloadFile: async () =>
    expect((await (await hub.downloadFile({ ...given, path: "a.txt" })).text()) === "a", "text"),
  downloadFileToCacheDir: () => hub.downloadFileToCacheDir({ ...given, path: "a.txt", cacheDir }),
  snapshotDownload: () => hub.snapshotDownload({ ...given, cacheDir }),
  parseSafetensorsMetadata: async () => {
    const found = await hub.parseSafetensorsMetadata({ ...given, computeParametersCount: true });
    expect(found.parameterCount.F32 === 1, JSON.stringify(found.parameterCount));
  },
  createBranch: () => hub.createBranch({ ...given, branch: "next" }),
  deleteBranch: () => hub.deleteBranch({ ...given, branch: "next" }),
  deleteFile: () => hub.deleteFile({ ...given, path: "d.txt" }),
  deleteFiles: () => hub.deleteFiles({ ...given, paths: ["e.txt", "p.txt"] }),
  deleteRepo: () => hub.deleteRepo(given),
};

async function result(call) {
  try {
    await call();
    return "works";
  } catch (error) {
    const status = error.statusCode;
    const isRefused = status >= 400 && status < 500 && error.message && error.data !== undefined;
    return isRefused ? `refused: ${status} ${error.message}` : `fault: ${status} ${error.stack}`;
  }
}

const results = {};
const names = Object.keys(hub).filter((name) => typeof hub[name] === "function");
for (const [name, call] of Object.entries(CALLS))
  if (names.includes(name)) results[name] = await result(call);
for (const name of names)
  if (!(name in CALLS) && !OTHER_THINGS.test(name) && !LOCAL.test(name)) results[name] = "not called";
console.log(JSON.stringify(results));

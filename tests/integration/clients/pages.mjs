// Pages and snapshots with @huggingface/hub; prints what held, as JSON.
// Arguments: the hub's address, a model of two versions, and an empty folder.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import * as hub from "@huggingface/hub";

const [hubUrl, repo, cacheDir] = process.argv.slice(2);
const commits = [];
for await (const commit of hub.listCommits({ repo, hubUrl, batchSize: 1 })) commits.push(commit);
const models = [];
for await (const model of hub.listModels({ hubUrl, limit: 2 })) models.push(model.name);
const folder = await hub.snapshotDownload({ repo, hubUrl, cacheDir });
const digest = async (path) =>
  createHash("sha256").update(await readFile(join(folder, path))).digest("hex");
const bare = await hub.downloadFile({ repo: repo.split("/")[1], path: "config.json", hubUrl });
console.log(
  JSON.stringify({
    commits: commits.map((commit) => commit.oid),
    models: models.length,
    folder: folder.split("/").pop(),
    model: await digest("model.onnx"),
    weights: await digest("weights.bin"),
    bare: bare !== null && (await bare.text()).length > 0,
  }),
);

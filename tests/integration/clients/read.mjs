// Reads with @huggingface/hub; prints what held, as JSON.
import * as hub from "@huggingface/hub";

const [hubUrl, accessToken] = process.argv.slice(2);
const repo = "zoo/net";
const all = async (found) => {
  const rows = [];
  for await (const row of found) rows.push(row);
  return rows;
};
const fails = async (ask) => {
  try {
    await ask();
  } catch (error) {
    return error.statusCode;
  }
  return 200;
};

const info = await hub.modelInfo({ name: repo, hubUrl, additionalFields: ["sha", "tags"] });
const files = await all(hub.listFiles({ repo, hubUrl, recursive: true }));
const names = ["README.md", "config.json", "model.onnx", "weights.bin"];
const about = await hub.fileDownloadInfo({ repo, path: "weights.bin", hubUrl });
const whole = await hub.downloadFile({ repo, path: "weights.bin", revision: "v1", hubUrl });
const bytes = new Uint8Array(await whole.arrayBuffer());
const paths = await hub.pathsInfo({ repo, paths: ["config.json", "nope"], hubUrl });
const me = await hub.whoAmI({ accessToken, hubUrl });
const listed = await all(hub.listModels({ search: { owner: "zoo" }, sort: "downloads", hubUrl }));
const own = await all(hub.listModels({ hubUrl, accessToken }));

console.log(
  JSON.stringify({
    modelInfo: info.name === repo && info.sha.length === 40 && info.tags.includes("onnx"),
    listFiles: JSON.stringify(files.map((file) => file.path).sort()) === JSON.stringify(names),
    lfs: files.find((file) => file.path === "weights.bin").lfs !== undefined,
    fileDownloadInfo: about.size === 2048000,
    downloadFile: bytes.length === 2048000 && bytes[1000] === 1000 % 256,
    missing: (await hub.downloadFile({ repo, path: "nope", hubUrl })) === null,
    fileExists:
      (await hub.fileExists({ repo, path: "config.json", hubUrl })) &&
      !(await hub.fileExists({ repo, path: "nope", hubUrl })),
    pathsInfo: paths.length === 1 && paths[0].path === "config.json",
    listCommits: (await all(hub.listCommits({ repo, hubUrl }))).length === 1,
    countCommits: (await hub.countCommits({ repo, revision: "main", hubUrl })) === 1,
    repoExists:
      (await hub.repoExists({ repo, hubUrl })) &&
      !(await hub.repoExists({ repo: "zoo/nope", hubUrl })) &&
      !(await hub.repoExists({ repo: "zoo/hidden", hubUrl })),
    whoAmI: me.name === "admin" && me.orgs.length === 1,
    listModels: listed.length === 1 && listed[0].name === repo,
    ownModels: own.length === 2,
    hidden: (await fails(() => hub.modelInfo({ name: "zoo/hidden", hubUrl }))) === 401,
  }),
);

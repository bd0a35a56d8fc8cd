// Outputs shown as their card declares them (hub/protocol/outputs.py): curves, notes, scores,
// classes, text, boxes and regions. Each gives elements for the page.

let make, drawn, figure, tools;

export function begin(helpers) {
  ({ make, drawn, figure, tools } = helpers);
}

const [WIDTH, HEIGHT] = [640, 140];
const NAMES = ["C", "C♯", "D", "D♯", "E", "F", "F♯", "G", "G♯", "A", "A♯", "B"];
const valuesOf = (tensor) => Float64Array.from({ length: tensor.data.length }, (_, at) => tools.number(tensor, at));
const percent = (share) => `${Math.round(100 * share)} %`;
const clock = (seconds) => `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

function chart(words, ends) {
  const svg = drawn("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": words });
  const box = make("figure", "", { className: "reading" });
  const line = make("p", "", { className: "row muted small ends" });
  line.append(...ends.map((text) => make("span", text)));
  box.append(svg, line, make("figcaption", words, { className: "small" }));
  return { box, svg };
}

// --- a value for each step of a sound --------------------------------------------------------------

function curve(tensor, reading, { sound, outputs }) {
  const values = valuesOf(tensor);
  const known = outputs.find((one) => one.name === reading.confidence);
  const sure = known ? valuesOf(known) : undefined;
  const step = sound ? (reading.step ?? sound.hop) / sound.rate : 1;
  const last = sound ? Math.min(sound.seconds, values.length * step) : values.length;
  const kept = values.length ? Array.from(values.keys()).filter((at) => at * step <= last && Number.isFinite(values[at])) : [];
  if (!kept.length) return [];
  const counts = (at) => !sure || sure[at] >= (reading.least ?? 0);
  const voiced = kept.filter(counts);
  const range = voiced.length ? voiced : kept;
  const low = reading.low ?? range.reduce((least, at) => Math.min(least, values[at]), Infinity);
  const high = reading.high ?? range.reduce((most, at) => Math.max(most, values[at]), -Infinity);
  const span = high - low || 1;
  const x = (at) => ((at * step) / last) * WIDTH;
  const y = (value) => HEIGHT - 4 - ((Math.min(Math.max(value, low), high) - low) / span) * (HEIGHT - 8);
  const unit = reading.unit ? ` ${reading.unit}` : "";
  const words = [`${reading.title || tensor.name} over ${sound ? clock(last) : `${values.length} values`}, from ${figure(low)}${unit} to ${figure(high)}${unit}`];
  if (reading.threshold !== null) words.push(`${percent(kept.filter((at) => values[at] >= reading.threshold).length / kept.length)} of the time at ${figure(reading.threshold)} or more`);
  if (sure) words.push(voiced.length ? `median ${figure(Number(median(voiced.map((at) => values[at])).toPrecision(4)))}${unit} where ${reading.confidence} is ${figure(reading.least ?? 0)} or more (${percent(voiced.length / kept.length)} of the time)` : `${reading.confidence} is nowhere ${figure(reading.least ?? 0)} or more`);
  const { box, svg } = chart(`${words.join("; ")}.`, ["0 s", sound ? clock(last) : `${values.length}`]);
  if (reading.threshold !== null) svg.append(drawn("path", { class: "limit", d: `M0 ${y(reading.threshold).toFixed(1)}H${WIDTH}` }));
  // A line goes on only between neighbours that both count.
  const path = (wanted) => kept.filter(wanted).map((at, place, all) => `${place && all[place - 1] === at - 1 ? "L" : "M"}${x(at).toFixed(1)} ${y(values[at]).toFixed(1)}h.1`).join("");
  if (sure) svg.append(drawn("path", { class: "curve faint", d: path((at) => !counts(at)) }));
  svg.append(drawn("path", { class: "curve", d: path(counts) }));
  return [box];
}

// --- keys of a keyboard over time ------------------------------------------------------------------

export const noteName = (key) => `${NAMES[key % 12]}${Math.floor(key / 12) - 1}`;

// Runs of a key at or above the threshold: { key, start, seconds, score }, by their start.
export function notesOf(tensor, reading, sound) {
  const [calls, frames, keys] = tensor.shape.length === 3 ? tensor.shape : [1, ...tensor.shape];
  const rows = [];
  for (let call = 0; call < calls; call += 1) {
    for (let frame = reading.edge; frame < frames - reading.edge; frame += 1) {
      const time = (call * sound.hop - sound.lead + frame * reading.step) / sound.rate;
      // Windows overlap by less than a row after their edges are cut.
      if (time <= sound.seconds && time > (rows.at(-1)?.time ?? -Infinity)) rows.push({ time, from: (call * frames + frame) * keys });
    }
  }
  const found = [];
  for (let key = 0; key < keys; key += 1) {
    for (let row = 0, begun = -1, sum = 0; row <= rows.length; row += 1) {
      const value = row < rows.length ? tools.number(tensor, rows[row].from + key) : -Infinity;
      if (value >= reading.threshold) {
        if (begun < 0) [begun, sum] = [row, 0];
        sum += value;
      } else if (begun >= 0) {
        const length = row - begun;
        if (length >= reading.shortest) found.push({ key: key + reading.first, start: Math.max(0, rows[begun].time), seconds: (length * reading.step) / sound.rate, score: sum / length });
        begun = -1;
      }
    }
  }
  return found.sort((a, b) => a.start - b.start || a.key - b.key);
}

function listing(columns, rows, label) {
  const table = make("table", "", { className: "table" });
  const head = make("tr"), top = make("thead"), body = make("tbody");
  columns.forEach((words, at) => head.append(make("th", words, { scope: "col", className: at ? "num" : "" })));
  for (const row of rows) {
    const line = make("tr");
    row.forEach((words, at) => line.append(at ? make("td", words, { className: "num" }) : make("th", words, { scope: "row" })));
    body.append(line);
  }
  top.append(head);
  table.append(top, body);
  const scroll = make("div", "", { className: "scroll", tabIndex: 0 });
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", label);
  scroll.append(table);
  return scroll;
}

const MOST_ROWS = 100;
const limited = (rows, noun) => (rows.length > MOST_ROWS ? [make("p", `The first ${MOST_ROWS} of ${rows.length} ${noun}.`, { className: "small muted" })] : []);

function notes(tensor, reading, { sound }) {
  if (!sound || tensor.shape.length < 2) return [];
  const found = notesOf(tensor, reading, sound);
  const names = [...new Set([...found].sort((a, b) => a.key - b.key).map(({ key }) => noteName(key)))];
  if (!found.length) return [make("p", `No note reaches ${figure(reading.threshold)} in ${clock(sound.seconds)}.`)];
  const words = `${found.length} note${found.length === 1 ? "" : "s"} in ${clock(sound.seconds)}: ${names.join(", ")}.`;
  const [low, high] = [found.reduce((least, one) => Math.min(least, one.key), 127) - 1, found.reduce((most, one) => Math.max(most, one.key), 0) + 1];
  const { box, svg } = chart(words, ["0 s", clock(sound.seconds)]);
  const row = HEIGHT / (high - low + 1);
  for (const { key, start, seconds } of found) svg.append(drawn("rect", { class: "note-bar", x: ((start / sound.seconds) * WIDTH).toFixed(1), y: ((high - key) * row).toFixed(1), width: Math.max(2, (seconds / sound.seconds) * WIDTH).toFixed(1), height: Math.max(2, row * 0.8).toFixed(1) }));
  const rows = found.map(({ key, start, seconds, score }) => [noteName(key), clock(start), clock(seconds), figure(Number(score.toPrecision(2)))]);
  return [box, listing(["Note", "Start", "Duration", "Mean score"], rows.slice(0, MOST_ROWS), "Table of notes"), ...limited(rows, "notes")];
}

// --- named scores and classes ----------------------------------------------------------------------

function bar(label, share, words) {
  const row = make("li");
  const svg = drawn("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false" });
  svg.append(drawn("rect", { width: Math.max(1, 100 * Math.min(1, Math.max(0, share))).toFixed(2), height: 10 }));
  row.append(make("b", label), svg, make("span", words, { className: "num" }));
  return row;
}

function scores(tensor, { names, low, high }) {
  const rows = tensor.data.length / names.length;
  if (!Number.isInteger(rows) || !rows) return [make("p", `The card names ${names.length} scores, but ${tensor.name} has ${tensor.data.length} values.`, { className: "small" })];
  const list = make("ol", "", { className: "bars even" });
  names.forEach((name, at) => {
    let sum = 0;
    for (let row = 0; row < rows; row += 1) sum += tools.number(tensor, row * names.length + at);
    list.append(bar(name, (sum / rows - low) / (high - low), figure(Number((sum / rows).toPrecision(3)))));
  });
  return [list, make("p", `On a scale from ${figure(low)} to ${figure(high)}${rows > 1 ? `; mean of ${rows} windows` : ""}.`, { className: "small muted" })];
}

// --- text by connectionist temporal classification ---------------------------------------------------

// The text of one line and the mean score of its characters.
export function decoded(tensor, { blank, extra }, lines) {
  const classes = tensor.shape.at(-1);
  const characters = [...lines, ...extra];
  characters.splice(blank, 0, "");
  if (characters.length !== classes) throw new Error(`the labels are ${characters.length} with the blank, but ${tensor.name} has ${classes} scores for each step`);
  let text = "", last = blank, sum = 0, kept = 0;
  for (let from = 0; from < tensor.data.length; from += classes) {
    let best = 0;
    for (let at = 1; at < classes; at += 1) if (tools.number(tensor, from + at) > tools.number(tensor, from + best)) best = at;
    if (best !== blank && best !== last) {
      text += characters[best];
      sum += tools.number(tensor, from + best);
      kept += 1;
    }
    last = best;
  }
  return { text, kept, score: kept ? sum / kept : 0 };
}

function text(tensor, reading, { characters }) {
  if (characters === undefined) return [make("p", `The characters are in the metadata of the file, ${reading.labels}; they are read when the model is loaded in this browser.`, { className: "small" })];
  const { text: line, kept, score } = decoded(tensor, reading, characters.split("\n"));
  const box = make("p", "", { className: "decided" });
  box.append(make("bdi", line || "no text", { className: line ? "line" : "muted" }));
  return [box, ...(kept ? [make("p", `${kept} character${kept === 1 ? "" : "s"}, mean score ${figure(Number(score.toPrecision(3)))}.`, { className: "small muted" })] : [])];
}

// --- boxes and regions over the picture --------------------------------------------------------------

function over(canvas, boxes, words) {
  const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
  const context = copy.getContext("2d");
  context.drawImage(canvas, 0, 0);
  Object.assign(context, { strokeStyle: "#d6006c", lineWidth: Math.max(1, canvas.width / 160) });
  for (const [left, top, right, bottom] of boxes) context.strokeRect(left, top, right - left, bottom - top);
  copy.setAttribute("role", "img");
  copy.setAttribute("aria-label", words);
  const box = make("figure", "", { className: "body output" });
  box.append(copy, make("figcaption", words, { className: "small" }));
  return box;
}

// Corners of each row of four numbers in pixels: left, top, right, bottom.
export function cornersOf(tensor, { format, is_share: isShare }, width, height) {
  const rows = [];
  for (let from = 0; from + 3 < tensor.data.length; from += 4) {
    const [a, b, c, d] = [0, 1, 2, 3].map((at) => tools.number(tensor, from + at) * (isShare ? (at % 2 ? height : width) : 1));
    rows.push(format === "xyxy" ? [a, b, c, d] : format === "xywh" ? [a, b, a + c, b + d] : [a - c / 2, b - d / 2, a + c / 2, b + d / 2]);
  }
  return rows;
}

function boxes(tensor, reading, { canvas, outputs, labels }) {
  if (tensor.shape.at(-1) !== 4) return [make("p", `${tensor.name} has no rows of four numbers.`, { className: "small" })];
  const value = (name) => { const found = outputs.find((one) => one.name === name); return found && valuesOf(found); };
  const [score, kind] = [value(reading.scores), value(reading.classes)];
  const corners = cornersOf(tensor, reading, canvas?.width ?? 1, canvas?.height ?? 1);
  const kept = corners.map((box, at) => ({ box, score: score?.[at], label: kind ? labels[kind[at]] ?? `class ${kind[at]}` : `${at + 1}` }))
    .filter((one) => one.box.every(Number.isFinite) && (one.score === undefined || one.score >= reading.threshold)).sort((a, b) => (b.score ?? 0) - (a.score ?? 0));
  const words = `${kept.length} box${kept.length === 1 ? "" : "es"}${score ? ` with a score of ${figure(reading.threshold)} or more` : ""}${canvas ? `, on the image of ${canvas.width} × ${canvas.height} that the model sees` : ""}.`;
  const rows = kept.map(({ box, score: mine, label }) => [label, ...(score ? [figure(Number(mine.toPrecision(3)))] : []), ...box.map((edge) => figure(Number(edge.toPrecision(4))))]);
  return [
    canvas ? over(canvas, kept.map(({ box }) => box), words) : make("p", words),
    ...(rows.length ? [listing([kind ? "Label" : "Box", ...(score ? ["Score"] : []), "Left", "Top", "Right", "Bottom"], rows.slice(0, MOST_ROWS), "Table of boxes"), ...limited(rows, "boxes")] : []),
  ];
}

// The boxes around connected values at or above a threshold, from top to bottom.
export function regionsOf(values, width, height, threshold) {
  const seen = new Uint8Array(width * height);
  const found = [];
  for (let start = 0; start < seen.length; start += 1) {
    if (seen[start] || values[start] < threshold) continue;
    const box = [width, height, 0, 0];
    const open = [start];
    seen[start] = 1;
    while (open.length) {
      const at = open.pop();
      const x = at % width, y = Math.floor(at / width);
      box[0] = Math.min(box[0], x); box[1] = Math.min(box[1], y); box[2] = Math.max(box[2], x + 1); box[3] = Math.max(box[3], y + 1);
      for (const [to, inside] of [[at - 1, x > 0], [at + 1, x < width - 1], [at - width, y > 0], [at + width, y < height - 1]]) {
        if (inside && !seen[to] && values[to] >= threshold) { seen[to] = 1; open.push(to); }
      }
    }
    // Smaller ones are single pixels beside a line.
    if ((box[2] - box[0]) * (box[3] - box[1]) >= 16) found.push(box);
  }
  return found;
}

function regions(tensor, { threshold }, { canvas }) {
  const [height, width] = tensor.shape.slice(-2);
  if (!height || width * height !== tensor.data.length) return [];
  const found = regionsOf(valuesOf(tensor), width, height, threshold);
  const words = `${found.length} region${found.length === 1 ? "" : "s"} of ${figure(threshold)} or more.`;
  const scale = canvas ? [canvas.width / width, canvas.height / height] : [1, 1];
  const rows = found.map((box, at) => [`${at + 1}`, ...box.map((edge) => String(edge))]);
  return [
    canvas ? over(canvas, found.map((box) => box.map((edge, at) => edge * scale[at % 2])), words) : make("p", words),
    ...(rows.length ? [listing(["Region", "Left", "Top", "Right", "Bottom"], rows.slice(0, MOST_ROWS), "Table of regions"), ...limited(rows, "regions")] : []),
  ];
}

const KINDS = { curve, notes, scores, text, boxes, regions };

// Elements for an output with a reading of these kinds; undefined for others.
export function show(tensor, reading, context) {
  try {
    return KINDS[reading.kind]?.(tensor, reading, context);
  } catch (error) {
    return [make("p", `${tensor.name} cannot be shown as declared: ${error.message}.`, { className: "small" })];
  }
}

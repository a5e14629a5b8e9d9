#!/usr/bin/env node
// Copies what a page loads beside its bundle, for bundlers that do not follow new URL(…, import.meta.url):
//   npx confetti-files public/confetti
import { cpSync, mkdirSync } from "node:fs";

const names = ["index.js", "metrics.js", "worker.js", "device.js", "store.js", "wasm_exec.js", "confetti.wasm"];
const [to, ...more] = process.argv.slice(2);
if (!to || more.length > 0) {
  console.error("usage: confetti-files FOLDER");
  process.exit(2);
}
mkdirSync(to, { recursive: true });
for (const name of names) cpSync(new URL(name, import.meta.url), `${to}/${name}`);
console.log(`${names.length} files are in ${to}: open({ files: … }) takes its address`);

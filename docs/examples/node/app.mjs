// Answers a trial's plan from Node, such as in a program of a desktop:
//   NODE_EXTRA_CA_CERTS=trial/authority.crt node app.mjs trial/app.json green
// The extra authority is the trial's own: services with public certificates need none.
import { mkdirSync, openSync, closeSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync, fsyncSync } from "node:fs";
import { device } from "@confetti-dp/client/files/device.js";

const [file, colour] = process.argv.slice(2);
const trial = JSON.parse(readFileSync(file, "utf8")); // what confetti up wrote

/** A folder of the user's own that keeps what was said and spent; an answer leaves when it is on the disk. One process at a time has it. */
function folder(path) {
  const at = (name) => `${path}/${encodeURIComponent(name)}`;
  const there = (name) => statSync(at(name), { throwIfNoEntry: false });
  const synced = (name) => { const f = openSync(name, "r"); fsyncSync(f); closeSync(f); };
  const replace = async (name, data) => {
    writeFileSync(`${at(name)}.new`, data, { mode: 0o600, flush: true });
    renameSync(`${at(name)}.new`, at(name));
    synced(path);
  };
  mkdirSync(path, { recursive: true, mode: 0o700 });
  try {
    mkdirSync(`${path}/.lock`);
  } catch {
    throw new Error(`another process has ${path}, or died with it: then remove ${path}/.lock`);
  }
  process.on("exit", () => rmSync(`${path}/.lock`, { recursive: true }));
  return {
    lock: async () => () => {},
    load: async (name) => there(name) && new Uint8Array(readFileSync(at(name))),
    append: async (name, offset, data) => there(name) ? (await replace(name, Buffer.concat([readFileSync(at(name)).subarray(0, offset), data])), true) : false,
    replace,
    remove: async (name) => { rmSync(at(name), { force: true }); synced(path); },
    list: async () => readdirSync(path).filter((name) => !name.startsWith(".") && !name.endsWith(".new")).map((name) => [decodeURIComponent(name), statSync(`${path}/${name}`).size]),
    stamp: async (name) => { const s = there(name); return s && `${s.ino}:${s.mtimeMs}:${s.size}`; },
  };
}

const found = (name) => new URL(import.meta.resolve(`@confetti-dp/client/files/${name}`));
await import(found("wasm_exec.js")); // sets globalThis.Go
const ask = device(async () => ({ module: await WebAssembly.compile(readFileSync(found("confetti.wasm"))), store: folder("confetti-device") }));
let calls = 0;
const call = async (name, argument) => {
  const { result, error } = await ask({ id: ++calls, call: name, argument });
  if (error) throw Object.assign(new Error(error.message), { code: error.code });
  return result;
};

try {
  await call("open", trial);
  const { said, status, why } = await call("report", { answers: { colour }, consent: true }); // after your user has agreed
  console.log(status === "sent" ? `You said: ${said}.` : `It waits: ${why}`);
  process.exit(0); // the device runs until its process ends
} catch (error) {
  console.error(`${error.code}: ${error.message}`);
  process.exit(1);
}

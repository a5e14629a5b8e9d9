// Devices in workers of Node, as index.js has them in workers of a browser.
import { readFileSync } from "node:fs";
import { Worker } from "node:worker_threads";

import { Device } from "../index.js";
import { Memory, serve } from "./memory.js";

export { Memory };

const files = process.env["CONFETTI_WEB_FILES"];

/** Why there is nothing to test, where the module was not made: go test ./web/client makes it. */
export const skip = files ? false : "CONFETTI_WEB_FILES names no folder of confetti.wasm: run go test ./web/client";

const module = files ? await WebAssembly.compile(readFileSync(`${files}/confetti.wasm`)) : undefined;

/**
 * index.js's open, with a store in memory.
 * @param {import("../index.js").OpenOptions} options
 * @param {Memory} memory
 * @returns {Promise<Device>}
 */
export async function open(options, memory) {
  const worker = new Worker(new URL("./worker.js", import.meta.url), { workerData: { module, exec: `${files}/wasm_exec.js` } });
  serve(worker, memory);
  /** @type {any} */
  const browser = {
    postMessage: (/** @type {any} */ message) => worker.postMessage(message),
    terminate: () => worker.terminate(),
  };
  worker.on("message", (data) => { if ("id" in data) browser.onmessage({ data }); });
  worker.on("error", (error) => browser.onerror({ message: error.message }));
  const device = new Device(browser);
  memory.end = () => device.close();
  try {
    await device.ask("open", options);
  } catch (error) {
    device.close();
    throw error;
  }
  return device;
}

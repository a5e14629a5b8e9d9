// The worker of tests in Node: the module is handed in, and the store is asked for by messages.
import { readFileSync } from "node:fs";
import { runInThisContext } from "node:vm";
import { parentPort, workerData } from "node:worker_threads";

import { device } from "../device.js";
import { asks } from "./memory.js";

if (!parentPort) throw new Error("run in a worker");
const port = parentPort;
runInThisContext(readFileSync(workerData.exec, "utf8")); // sets globalThis.Go
const answer = device(async () => ({ module: workerData.module, store: asks(port) }));
port.on("message", async (message) => {
  if ("call" in message) port.postMessage(await answer(message));
});

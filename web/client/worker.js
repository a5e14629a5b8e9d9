// The worker of index.js in a browser.
import { device } from "./device.js";
import { database } from "./store.js";

const answer = device(async ({ files, integrity, store = "confetti" }) => {
  await import(new URL("wasm_exec.js", files).href); // sets globalThis.Go
  const wasm = fetch(new URL("confetti.wasm", files), integrity ? { integrity } : {});
  return { module: await WebAssembly.compileStreaming(wasm), store: await database(store) };
});

self.onmessage = async ({ data }) => self.postMessage(await answer(data));

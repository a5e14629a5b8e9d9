// The worker of index.js in a browser.
import { device } from "./device.js";
import { database } from "./store.js";

const answer = device(async ({ files, integrity, store = "confetti" }) => {
  await import(new URL("wasm_exec.js", files).href); // sets globalThis.Go
  const wasm = await fetch(new URL("confetti.wasm", files), integrity ? { integrity } : {});
  const [module, bytes] = await Promise.all([WebAssembly.compileStreaming(wasm.clone()), wasm.arrayBuffer()]);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  // What this very module has found of a plan it need not find again.
  return { module, store: await database(store), program: Array.from(hash, (b) => b.toString(16).padStart(2, "0")).join("") };
});

self.onmessage = async ({ data }) => self.postMessage(await answer(data));

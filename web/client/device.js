// What confetti.wasm is started with, in a worker of a browser or of Node.

/** @typedef {import("./store.js").Store} Store */
/** What the module has, by name. @typedef {Record<string, (text: string) => Promise<string>>} Functions */

/**
 * Answers calls of index.js, of which the first is "open", and of metrics.js, of which it is "count".
 * @param {(options: Record<string, any>) => Promise<{module: WebAssembly.Module, store: Store, program?: string}>} prepare Loads the module, says which one it is, after which globalThis.Go is there, and opens the store.
 * @returns {(message: {id: number, call: string, argument?: any}) => Promise<{id: number, result?: any, error?: {message: string, code: string}}>}
 */
export function device(prepare) {
  /** @type {Promise<Functions> | undefined} */
  let opened;
  return async ({ id, call, argument }) => {
    try {
      if (call === "open" || call === "count") {
        opened = prepare(argument).then(({ module, store, program }) => start(call, module, store, { ...argument, program }));
        await opened;
        return { id };
      }
      const functions = await opened;
      const f = functions?.[call];
      if (!f) throw new Error(`no function ${call}`);
      const text = await f(JSON.stringify(argument ?? null));
      return { id, result: JSON.parse(text) };
    } catch (error) {
      const e = /** @type {{message?: string, code?: string}} */ (error);
      return { id, error: { message: e.message ?? String(error), code: typeof e.code === "string" ? e.code : "failed" } };
    }
  };
}

/**
 * @param {"open" | "count"} call
 * @param {WebAssembly.Module} module
 * @param {Store} store
 * @param {Record<string, any>} options
 * @returns {Promise<Functions>}
 */
async function start(call, module, store, { plan, registry, publishers, bearer, delay, wait, caps, operators, program }) {
  const realm = /** @type {any} */ (globalThis);
  const go = new realm.Go();
  void go.run(await WebAssembly.instantiate(module, go.importObject)); // until the worker ends
  if (call === "count") return realm.confettiMetrics(store, JSON.stringify({ registry, publishers, bearer, delay, caps, operators, program }));
  return realm.confettiDevice(store, JSON.stringify({ plan, publishers, bearer, delay, wait, caps, operators, program }));
}

// What confetti.wasm is started with, in a worker of a browser or of Node.

/** @typedef {import("./store.js").Store} Store */
/** @typedef {{charge(text: string): Promise<string>, report(text: string): Promise<string>, deliver(text: string): Promise<string>, ledger(text: string): Promise<string>, optOut(text: string): Promise<string>}} Functions */

/**
 * Answers calls of index.js, of which the first is "open".
 * @param {(options: Record<string, any>) => Promise<{module: WebAssembly.Module, store: Store, program?: string}>} prepare Loads the module, says which one it is, after which globalThis.Go is there, and opens the store.
 * @returns {(message: {id: number, call: string, argument?: any}) => Promise<{id: number, result?: any, error?: {message: string, code: string}}>}
 */
export function device(prepare) {
  /** @type {Promise<Functions> | undefined} */
  let opened;
  return async ({ id, call, argument }) => {
    try {
      if (call === "open") {
        opened = prepare(argument).then(({ module, store, program }) => start(module, store, { ...argument, program }));
        await opened;
        return { id };
      }
      const functions = await opened;
      if (!functions || !(call in functions)) throw new Error(`no function ${call}`);
      const text = await functions[/** @type {keyof Functions} */ (call)](JSON.stringify(argument ?? null));
      return { id, result: JSON.parse(text) };
    } catch (error) {
      const e = /** @type {{message?: string, code?: string}} */ (error);
      return { id, error: { message: e.message ?? String(error), code: typeof e.code === "string" ? e.code : "failed" } };
    }
  };
}

/**
 * @param {WebAssembly.Module} module
 * @param {Store} store
 * @param {Record<string, any>} options
 * @returns {Promise<Functions>}
 */
async function start(module, store, { plan, publishers, bearer, delay, wait, caps, program }) {
  const realm = /** @type {any} */ (globalThis);
  const go = new realm.Go();
  void go.run(await WebAssembly.instantiate(module, go.importObject)); // until the worker ends
  return realm.confettiDevice(store, JSON.stringify({ plan, publishers, bearer, delay, wait, caps, program }));
}

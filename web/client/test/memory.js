// A store in memory, which outlives the workers that use it: they ask for it by messages, as
// those of a browser ask its database, and what a killed one holds is given back.
/** @typedef {import("../store.js").Store} Store */

export class Memory {
  /** @type {Map<string, Uint8Array>} */
  #kept = new Map();
  #changes = 0;
  /** @type {Map<string, string>} */
  #stamps = new Map();
  #queue = Promise.resolve();

  /** Ends the worker that uses it. */
  end = () => {};

  /** Whose turn it is, until release is called. @returns {Promise<() => void>} */
  lock() {
    /** @type {() => void} */
    let release = () => {};
    const before = this.#queue;
    this.#queue = new Promise((resolve) => { release = resolve; });
    return before.then(() => release);
  }

  /** @param {string} name */
  async load(name) {
    return this.#kept.get(name);
  }

  /** @param {string} name @param {number} at @param {Uint8Array} data */
  async append(name, at, data) {
    const found = this.#kept.get(name);
    if (!found) return false;
    const all = new Uint8Array(at + data.length);
    all.set(found.subarray(0, at));
    all.set(data, at);
    this.#put(name, all);
    return true;
  }

  /** @param {string} name @param {Uint8Array} data */
  async replace(name, data) {
    this.#put(name, data);
  }

  /** @param {string} name */
  async remove(name) {
    this.#kept.delete(name);
    this.#stamps.delete(name);
  }

  /** @returns {Promise<[string, number][]>} */
  async list() {
    return [...this.#kept].map(([name, data]) => [name, data.length]);
  }

  /** @param {string} name */
  async stamp(name) {
    return this.#stamps.get(name);
  }

  /** @param {string} name @param {Uint8Array} data */
  #put(name, data) {
    this.#kept.set(name, data);
    this.#stamps.set(name, `${++this.#changes}`);
  }
}

/**
 * Answers what a worker asks of the store (asks below), until the worker ends.
 * @param {import("node:worker_threads").Worker} worker
 * @param {Memory} memory
 */
export function serve(worker, memory) {
  /** @type {(() => void)[]} */
  const held = [];
  worker.on("exit", () => held.forEach((release) => release()));
  worker.on("message", async (/** @type {any} */ { store, method, args }) => {
    if (store === undefined) return;
    if (method === "unlock") return held.shift()?.();
    if (method === "lock") {
      held.push(await memory.lock());
      return worker.postMessage({ store });
    }
    worker.postMessage({ store, result: await /** @type {any} */ (memory)[method](...args) });
  });
}

/**
 * The store as a worker has it.
 * @param {import("node:worker_threads").MessagePort} port
 * @returns {Store}
 */
export function asks(port) {
  let last = 0;
  /** @type {Map<number, (result: any) => void>} */
  const waiting = new Map();
  port.on("message", ({ store, result }) => {
    waiting.get(store)?.(result);
    waiting.delete(store);
  });
  /** @param {string} method @param {any[]} args @returns {Promise<any>} */
  const ask = (method, ...args) => new Promise((resolve) => {
    waiting.set(++last, resolve);
    port.postMessage({ store: last, method, args });
  });
  return {
    lock: async () => {
      await ask("lock");
      return () => port.postMessage({ store: 0, method: "unlock" });
    },
    load: (name) => ask("load", name),
    append: (name, at, data) => ask("append", name, at, data),
    replace: (name, data) => ask("replace", name, data),
    remove: (name) => ask("remove", name),
    list: () => ask("list"),
    stamp: (name) => ask("stamp", name),
  };
}

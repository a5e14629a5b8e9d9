// What the console's pages compute in this browser, in a worker: nothing of it goes anywhere.

/** Starts confetti-studio.wasm when it is first asked. */
export class Studio {
  /** @type {Worker | undefined} */
  #worker;
  #last = 0;
  /** @type {Map<number, {resolve: (result: any) => void, reject: (error: Error) => void}>} */
  #waiting = new Map();

  /**
   * Calls a function of cmd/confetti-web/studio.
   * @param {"read" | "draw" | "verify"} call
   * @param {...unknown} args
   * @returns {Promise<any>}
   */
  ask(call, ...args) {
    this.#worker ??= this.#start();
    return new Promise((resolve, reject) => {
      const id = ++this.#last;
      this.#waiting.set(id, { resolve, reject });
      this.#worker?.postMessage({ id, call, args });
    });
  }

  #start() {
    const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module", name: "confetti-studio" });
    worker.onmessage = ({ data }) => {
      const asked = this.#waiting.get(data.id);
      this.#waiting.delete(data.id);
      if (data.error) asked?.reject(new Error(data.error));
      else asked?.resolve(data.result);
    };
    worker.onerror = (event) => {
      for (const { reject } of this.#waiting.values()) reject(new Error(event.message || "the worker could not be started"));
      this.#waiting.clear();
    };
    return worker;
  }
}

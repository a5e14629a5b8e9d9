// What a device must not lose, in a database of the browser.

/**
 * Bytes under names. What a promise has acknowledged is there after a crash.
 * @typedef {object} Store
 * @property {() => Promise<() => void>} lock Keeps all other tabs and workers out until what it gives is called, or the worker ends.
 * @property {(name: string) => Promise<Uint8Array | undefined>} load Undefined where nothing is.
 * @property {(name: string, at: number, data: Uint8Array) => Promise<boolean>} append Behind the first so many bytes, in the place of what was there; false where nothing is.
 * @property {(name: string, data: Uint8Array) => Promise<void>} replace
 * @property {(name: string) => Promise<void>} remove
 * @property {() => Promise<[string, number][]>} list Names with their bytes.
 * @property {(name: string) => Promise<string | undefined>} stamp Another one after each change.
 */

/**
 * One thing that is kept: its bytes in pieces, as they were appended.
 * @typedef {{pieces: Uint8Array[], bytes: number, change: string}} Kept
 */

/**
 * The pieces of a thing with data behind its first so many bytes.
 * @param {Uint8Array[]} pieces
 * @param {number} at
 * @param {Uint8Array} data
 * @returns {Uint8Array[]}
 */
export function appended(pieces, at, data) {
  /** @type {Uint8Array[]} */
  const kept = [];
  for (const piece of pieces) {
    if (at <= 0) break;
    kept.push(piece.length <= at ? piece : piece.slice(0, at));
    at -= piece.length;
  }
  kept.push(data);
  return kept;
}

/** @param {Uint8Array[]} pieces @returns {Uint8Array} */
export function joined(pieces) {
  const all = new Uint8Array(pieces.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

/**
 * A store in IndexedDB. Every write is on the disk when it is acknowledged (durability
 * "strict"), and one worker at a time has the lock (Web Locks), which the browser gives back
 * when a worker dies.
 * @param {string} name
 * @returns {Promise<Store>}
 */
export async function database(name) {
  // Without it a browser that is short of room may clear what was spent.
  await navigator.storage?.persist?.().catch(() => false);
  const opening = indexedDB.open(name, 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore("kept");
  const db = await settled(opening);
  db.onversionchange = () => db.close();

  /** @template T @param {IDBRequest<T>} request @returns {Promise<T>} */
  function settled(request) {
    return new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  }

  /**
   * Writes in one transaction; the promise is kept when it is on the disk.
   * @template T
   * @param {(kept: IDBObjectStore) => Promise<T> | T} change
   * @returns {Promise<T>}
   */
  function write(change) {
    return new Promise((resolve, reject) => {
      const transaction = db.transaction("kept", "readwrite", { durability: "strict" });
      /** @type {T} */
      let result;
      transaction.oncomplete = () => resolve(result);
      transaction.onabort = transaction.onerror = () => reject(transaction.error ?? new Error("the transaction was aborted"));
      Promise.resolve(change(transaction.objectStore("kept"))).then((r) => { result = r; }, (error) => { reject(error); transaction.abort(); });
    });
  }

  /** @param {string} key @returns {Promise<Kept | undefined>} */
  const read = (key) => settled(db.transaction("kept").objectStore("kept").get(key));

  /** @param {Uint8Array[]} pieces @returns {Kept} */
  const kept = (pieces) => ({ pieces, bytes: pieces.reduce((n, p) => n + p.length, 0), change: crypto.randomUUID() });

  return {
    lock: () => new Promise((resolve, reject) => {
      navigator.locks.request(`confetti:${name}`, () => new Promise((/** @type {(value?: unknown) => void} */ release) => resolve(() => release()))).catch(reject);
    }),
    async load(key) {
      const found = await read(key);
      return found && joined(found.pieces);
    },
    append: (key, at, data) => write(async (all) => {
      /** @type {Kept | undefined} */
      const found = await settled(all.get(key));
      if (!found) return false;
      if (at > found.bytes) throw new Error("an append behind the end");
      all.put(kept(appended(found.pieces, at, data)), key);
      return true;
    }),
    replace: (key, data) => write((all) => { all.put(kept([data]), key); }),
    remove: (key) => write((all) => { all.delete(key); }),
    async list() {
      const all = db.transaction("kept").objectStore("kept");
      const [keys, values] = await Promise.all([settled(all.getAllKeys()), settled(all.getAll())]);
      return keys.map((key, i) => /** @type {[string, number]} */ ([String(key), values[i].bytes]));
    },
    async stamp(key) {
      return (await read(key))?.change;
    },
  };
}

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
 * A store in IndexedDB. Every write is on the disk when it is acknowledged (durability
 * "strict"), and one worker at a time has the lock (Web Locks), which the browser gives back
 * when a worker dies.
 *
 * The database is made by the first write: of somebody who has only been asked nothing is on the disk.
 *
 * Under each name are its bytes in pieces, as they were appended: an append writes its own
 * piece and how long the whole is now, however much stands before it.
 * @param {string} name
 * @returns {Promise<Store>}
 */
export async function database(name) {
  /** @type {Promise<IDBDatabase> | undefined} */
  let opening;
  const opened = () => (opening ??= make(name));
  // A browser that does not list its databases makes it at once.
  const there = async () => opening !== undefined || !indexedDB.databases || (await indexedDB.databases()).some((one) => one.name === name);

  /**
   * Changes in one transaction; the promise is kept when it is on the disk.
   * @template T
   * @param {(kept: IDBObjectStore, pieces: IDBObjectStore) => Promise<T> | T} change
   * @returns {Promise<T>}
   */
  async function write(change) {
    const db = await opened();
    return new Promise((resolve, reject) => {
      const transaction = db.transaction(["kept", "pieces"], "readwrite", { durability: "strict" });
      /** @type {T} */
      let result;
      transaction.oncomplete = () => resolve(result);
      transaction.onabort = transaction.onerror = () => reject(transaction.error ?? new Error("the transaction was aborted"));
      Promise.resolve(change(transaction.objectStore("kept"), transaction.objectStore("pieces"))).then((r) => { result = r; }, (error) => { reject(error); transaction.abort(); });
    });
  }

  return {
    lock: () => new Promise((resolve, reject) => {
      navigator.locks.request(`confetti:${name}`, () => new Promise((/** @type {(value?: unknown) => void} */ release) => resolve(() => release()))).catch(reject);
    }),
    async load(key) {
      if (!(await there())) return undefined;
      const all = (await opened()).transaction(["kept", "pieces"]);
      const [found, pieces] = await Promise.all([settled(all.objectStore("kept").get(key)), settled(all.objectStore("pieces").getAll(from(key, 0)))]);
      return found && joined(pieces, found.bytes);
    },
    append: async (key, at, data) => (await there()) && write(async (kept, pieces) => {
      /** @type {Kept | undefined} */
      const found = await settled(kept.get(key));
      if (!found) return false;
      if (at > found.bytes) throw new Error("an append behind the end");
      if (at < found.bytes) await cut(pieces, key, at);
      if (data.length) pieces.put(data, [key, at]);
      kept.put(changed(at + data.length), key);
      return true;
    }),
    replace: (key, data) => write((kept, pieces) => {
      pieces.delete(from(key, 0));
      if (data.length) pieces.put(data, [key, 0]);
      kept.put(changed(data.length), key);
    }),
    async remove(key) {
      if (!(await there())) return;
      await write((kept, pieces) => {
        pieces.delete(from(key, 0));
        kept.delete(key);
      });
    },
    async list() {
      if (!(await there())) return [];
      const all = (await opened()).transaction("kept").objectStore("kept");
      const [keys, values] = await Promise.all([settled(all.getAllKeys()), settled(all.getAll())]);
      return keys.map((key, i) => /** @type {[string, number]} */ ([String(key), values[i].bytes]));
    },
    async stamp(key) {
      if (!(await there())) return undefined;
      return (await settled((await opened()).transaction("kept").objectStore("kept").get(key)))?.change;
    },
  };
}

/**
 * Opens the database, and makes it where there is none.
 * @param {string} name
 */
async function make(name) {
  // Without it a browser that is short of room may clear what was spent.
  await navigator.storage?.persist?.().catch(() => false);
  const opening = indexedDB.open(name, 2);
  opening.onupgradeneeded = (event) => {
    opening.result.createObjectStore("pieces"); // Uint8Array under [name, where it begins]
    if (event.oldVersion === 0) opening.result.createObjectStore("kept"); // Kept under its name
    else divide(/** @type {IDBTransaction} */ (opening.transaction));
  };
  const db = await settled(opening);
  db.onversionchange = () => db.close();
  return db;
}

/** What is known of a thing without its bytes. @typedef {{bytes: number, change: string}} Kept */

/** @param {number} bytes @returns {Kept} */
const changed = (bytes) => ({ bytes, change: crypto.randomUUID() });

/** The pieces of a thing that begin at a byte or behind it. @param {string} key @param {number} at */
const from = (key, at) => IDBKeyRange.bound([key, at], [key, Infinity]);

/** @template T @param {IDBRequest<T>} request @returns {Promise<T>} */
function settled(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/**
 * Takes away what is behind the first so many bytes: whole pieces, and the end of one.
 * @param {IDBObjectStore} pieces
 * @param {string} key
 * @param {number} at
 */
async function cut(pieces, key, at) {
  pieces.delete(from(key, at));
  const last = await settled(pieces.openCursor(IDBKeyRange.bound([key, 0], [key, at], false, true), "prev"));
  if (!last) return;
  const begins = /** @type {[string, number]} */ (last.key)[1];
  if (begins + last.value.length > at) last.update(last.value.slice(0, at - begins));
}

/**
 * Turns what the first form of the database had, all pieces of a thing in one record, into this
 * one: a ledger that a browser has is not lost.
 * @param {IDBTransaction} upgrade
 */
function divide(upgrade) {
  const pieces = upgrade.objectStore("pieces"), all = upgrade.objectStore("kept").openCursor();
  all.onsuccess = () => {
    const one = all.result;
    if (!one) return;
    const whole = joined(one.value.pieces, one.value.bytes);
    if (whole.length) pieces.put(whole, [one.key, 0]);
    one.update({ bytes: one.value.bytes, change: one.value.change });
    one.continue();
  };
}

/**
 * All pieces of a thing, one behind the other.
 * @param {Uint8Array[]} pieces
 * @param {number} bytes
 */
function joined(pieces, bytes) {
  const all = new Uint8Array(bytes);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  if (at !== bytes) throw new Error("a piece is missing");
  return all;
}

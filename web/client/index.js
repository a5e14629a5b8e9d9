// A device in a browser: it checks a plan, answers it, and keeps a ledger of what it said.
// The device itself is confetti.wasm, in a worker; nothing of an answer leaves it that is not
// private already. docs/browsers.md has what a page and its server need.

/**
 * @typedef {object} OpenOptions
 * @property {string} plan Address of a plan, https://SERVICE/v1/plans/PLAN, or of a study; or the text of a signed plan.
 * @property {string[]} publishers Keys of the publishers whose plans are answered, "ed25519:...".
 * @property {string} [bearer] Who the respondent is to the token issuer.
 * @property {number} [delay] The longest that an answer waits here after its tokens were asked for, in seconds; 0: none, for trials. An hour where it is not given and tokens are taken.
 * @property {number} [wait] How long report and deliver wait for delays and try again, in seconds; 0 where it is not given.
 * @property {Caps} [caps] What may be spent; epsilon 20 at delta 0.001 a plan, and in all plans of 30 days, where it is not given.
 * @property {Operators} [operators] Whom the respondent trusts to mix or to add; all alike, where it is not given.
 * @property {string} [store] Name of the database; one respondent's. "confetti" where it is not given.
 * @property {URL | string} [files] The folder of confetti.wasm and wasm_exec.js; that of this file where it is not given.
 * @property {string} [integrity] SHA-256 of confetti.wasm, as "sha256-...": another one does not run. It pins nothing else.
 */

/**
 * @typedef {object} Cap Zero or missing: no limit.
 * @property {number} [epsilon]
 * @property {number} [delta]
 * @property {number} [local] Of what holds though everyone colludes.
 */

/** @typedef {{plan: Cap, window: Cap, days: number}} Caps One plan, and all plans within so many days. */

/**
 * @typedef {object} Operators Names, by which an instance is chosen. Which one an answer went through is public.
 * @property {string[]} [deny] Nothing goes through an instance that one of them has a hop in.
 * @property {string[]} [trust] An answer goes only through an instance that one of them has a hop in.
 * @property {string[]} [prefer] Of the instances that are left, those that one of them has a hop in, if there are any.
 */

/**
 * @typedef {object} Charge Under replacement, one person's answer exchanged for any other; or of the label alone.
 * @property {number} epsilon
 * @property {number} delta
 * @property {number} local Though everyone colludes; negative: no limit.
 * @property {"label"} [adjacency] The label is exchanged, and the features are public.
 */

/**
 * @typedef {object} Asked
 * @property {string} plan The plan's name.
 * @property {string} title
 * @property {string} publisher
 * @property {string} [opens]
 * @property {string} [closes]
 * @property {Charge} charge What an answer costs.
 * @property {{name: string, crowd: boolean, list: boolean}[]} fields By which names it asks; what is said under a crowd's, the network sees.
 * @property {Record<string, any>} question As the plan has it.
 */

/**
 * @typedef {object} Outcome
 * @property {"sent" | "unfit" | "delivered" | "waiting"} status Sent: the answer, whole. Unfit: in its place, what the plan has for an answer that it has no room for. Delivered: what was drawn before this device was opened. Waiting: safe here, and to be delivered later.
 * @property {number} parts Contributions that wait.
 * @property {string} [next] When deliver may get on.
 * @property {string} [why] It waits.
 * @property {string} [said] What the device said, for a sentence that begins with "you said": "green, blue; one such word in five is the coin's". It is in the ledger too, and not what was answered.
 * @property {Code} [code] Of a wait, as of a DeviceError: "delay", "full", "unreachable", "origin", "credential" and others.
 * @property {boolean} [fits] Whether the plan has room for the answer; if not, what it has for such an answer is sent. It is there where this device has drawn the answer since it was opened. Show it to nobody else.
 */

/** @typedef {Record<string, string | number | (string | number)[]>} Answers By the names that the plan asks by. */

/**
 * What a program branches on; docs/embedding.md has what each says, and what to do about it.
 * @typedef {(
 * | "bad-options"
 * | "bad-answers"
 * | "not-opted-in"
 * | "off"
 * | "answered"
 * | "not-open"
 * | "closed"
 * | "other-round"
 * | "spent"
 * | "dropped"
 * | "publisher"
 * | "promise"
 * | "unreachable"
 * | "certificate"
 * | "origin"
 * | "credential"
 * | "full"
 * | "delay"
 * | "refused"
 * | "nothing-kept"
 * | "cancelled"
 * | "ended"
 * | "forked"
 * | "registry"
 * | "rolled-back"
 * | "other-app"
 * | "unknown-metric"
 * | "wrong-type"
 * | "outside-domain"
 * | "clock-back"
 * | "other-study"
 * | "not-allowed"
 * | "bug"
 * | "failed"
 * )} Code
 */

/** An error of the device. */
export class DeviceError extends Error {
  /** @param {string} message @param {Code | import("./metrics.js").Refusal} code */
  constructor(message, code) {
    super(message);
    this.name = "DeviceError";
    this.code = code;
  }
}

/**
 * Starts a device for a plan, and checks the plan: it refuses one that no trusted publisher
 * signed, or whose promise does not follow from its numbers. Nothing is answered yet.
 * @param {OpenOptions} options
 * @returns {Promise<Device>}
 */
export async function open(options) {
  const device = new Device(new Worker(new URL("./worker.js", import.meta.url), { type: "module", name: "confetti" }));
  try {
    const { files, ...rest } = options;
    await device.ask("open", { ...rest, files: new URL("./", files ? new URL(files, location.href) : import.meta.url).href });
    return device;
  } catch (error) {
    device.close();
    throw error;
  }
}

/** A device that answers one plan. */
export class Device {
  #worker;
  #last = 0;
  #ended = false;
  /** @type {Map<number, {resolve: (result: any) => void, reject: (error: Error) => void}>} */
  #waiting = new Map();

  /** @param {Worker} worker */
  constructor(worker) {
    this.#worker = worker;
    worker.onmessage = ({ data }) => {
      const asked = this.#waiting.get(data.id);
      this.#waiting.delete(data.id);
      if (data.error) asked?.reject(new DeviceError(data.error.message, data.error.code));
      else asked?.resolve(data.result);
    };
    worker.onerror = (event) => this.#end(event.message || "the worker could not be started");
  }

  /** @param {string} why */
  #end(why) {
    this.#ended = true;
    for (const { reject } of this.#waiting.values()) reject(new DeviceError(why, "ended"));
    this.#waiting.clear();
  }

  /**
   * @param {string} call
   * @param {unknown} [argument]
   * @returns {Promise<any>}
   */
  ask(call, argument) {
    if (this.#ended) return Promise.reject(new DeviceError("the device was closed", "ended"));
    return new Promise((resolve, reject) => {
      const id = ++this.#last;
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, call, argument });
    });
  }

  /** What the plan asks, and what an answer costs. @returns {Promise<Asked>} */
  charge() {
    return this.ask("charge");
  }

  /**
   * Draws the report, writes it into the ledger, which spends for it, and sends it. A plan is
   * answered once: asked again, what was said then is sent, or the error is "answered".
   * @param {Answers} answers
   * @param {{consent?: boolean}} [how] consent: the respondent has just agreed to take part, which is written down first. A device that has no consent answers nothing.
   * @returns {Promise<Outcome>}
   */
  report(answers, { consent = false } = {}) {
    return this.ask("report", { answers, consent });
  }

  /** Sends what waits and is due. @returns {Promise<Outcome>} */
  deliver() {
    return this.ask("deliver");
  }

  /**
   * All that this device has agreed to, spent and said; words says the same to a person, and an entry's said is that of an Outcome.
   * @returns {Promise<{opted_in: boolean, entries: Record<string, any>[], words: string} & Record<string, any>>}
   */
  ledger() {
    return this.ask("ledger");
  }

  /** The respondent takes part no longer: what waits is destroyed, and what was spent stays written down. @returns {Promise<void>} */
  async optOut() {
    await this.ask("optOut");
  }

  /** Ends the worker. What waits stays in the store. */
  close() {
    this.#worker.terminate();
    this.#end("the device was closed");
  }
}

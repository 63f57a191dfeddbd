// Keeps blocks that were read, for all who read some of many.

/** Keeps the blocks that were used last, and reads none twice at a time. @template T */
export class BlockCache {
  /** Is called with every block that was read. @type {(block: T) => void} */
  onRead = () => {};
  /** @type {Map<string, {value?: T, promise: Promise<T>}>} */
  entries = new Map();

  /** @param {number} most @param {(name: string) => Promise<T>} read */
  constructor(most, read) {
    this.most = most;
    this.read = read;
  }

  /** @param {string} name @returns {Promise<T>} */
  get(name) {
    const isNew = !this.entries.has(name);
    /** @type {{value?: T, promise: Promise<T>}} */
    const entry = this.entries.get(name) ?? { promise: this.read(name) };
    this.entries.delete(name);
    this.entries.set(name, entry);
    if (this.entries.size > this.most) this.entries.delete([...this.entries.keys()][0]);
    const keep = (/** @type {T} */ value) => this.onRead((entry.value = value));
    if (isNew) entry.promise.then(keep, () => this.entries.delete(name));
    return entry.promise;
  }

  /** The block if it is in memory. Else nothing, and it is read. @param {string} name */
  now(name) {
    if (!this.entries.has(name)) void this.get(name);
    return this.entries.get(name)?.value;
  }
}

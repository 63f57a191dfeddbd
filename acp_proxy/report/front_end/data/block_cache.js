// A cache of blocks, for readers that need only some of many blocks.

/**
 * Keeps the blocks that were used last. While a block is being read, it is not read again.
 * @template T
 */
export class BlockCache {
  /** Called with every block that was read. @type {(block: T) => void} */
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

  /**
   * Returns a block that is in memory. Of any other block, starts the reading and returns nothing.
   * @param {string} name
   */
  now(name) {
    if (!this.entries.has(name)) void this.get(name);
    return this.entries.get(name)?.value;
  }
}

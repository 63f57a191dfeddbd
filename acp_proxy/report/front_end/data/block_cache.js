// A cache of blocks, for readers that need only some of many blocks.

/**
 * A block: the last value that was read, and the reading of the block. A block is stale if it has
 * changed since that reading began.
 * @template T
 * @typedef {{value?: T, promise: Promise<T>, isReading: boolean, isStale: boolean}} CachedBlock
 */

/**
 * Keeps the blocks that were used last. While a block is being read, it is not read again.
 * @template T
 */
export class BlockCache {
  /** Called with every block that was read. @type {(block: T) => void} */
  onRead = () => {};
  /** @type {Map<string, CachedBlock<T>>} */
  entries = new Map();

  /** @param {number} most @param {(name: string) => Promise<T>} read */
  constructor(most, read) {
    this.most = most;
    this.read = read;
  }

  /** @param {string} name @returns {Promise<T>} */
  get(name) {
    const old = this.entries.get(name);
    const entry = old && !old.isStale ? old : this.begin(name, old?.value);
    this.entries.delete(name);
    this.entries.set(name, entry);
    if (this.entries.size > this.most) this.entries.delete([...this.entries.keys()][0]);
    return entry.promise;
  }

  /** @param {string} name @param {T} [value] what is shown until the block was read */
  begin(name, value) {
    const entry = { value, promise: this.read(name), isReading: true, isStale: false };
    entry.promise.then((/** @type {T} */ read) => {
      [entry.value, entry.isReading] = [read, false];
      this.onRead(read);
    }, () => this.entries.get(name) === entry && this.entries.delete(name));
    return entry;
  }

  /**
   * Returns a block if it is in memory. Otherwise starts to read the block, and returns nothing.
   * @param {string} name
   * @param {(block: T) => boolean} [isEnough] whether a stale block still serves
   */
  now(name, isEnough = () => true) {
    const { value, isStale, isReading } = this.entries.get(name) ?? { isStale: true };
    if (isStale && !isReading && (value === undefined || !isEnough(value))) void this.get(name);
    return this.entries.get(name)?.value;
  }

  /** Notes that a block has changed: `get` reads it again. @param {string} name */
  expire = (name) => Object.assign(this.entries.get(name) ?? {}, { isStale: true });
}

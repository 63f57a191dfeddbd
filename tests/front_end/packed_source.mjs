// The blocks of a report by name, as base64 of compressed bytes, for tests that call Node.
import { decodeBase64, inflate } from "../../acp_proxy/report/front_end/data/source.js";

export class PackedSource {
  constructor(blocks) {
    this.blocks = blocks;
    this.inflated = new Map();
  }
  packed(name) {
    return this.blocks[name];
  }
  async bytes(name) {
    if (!this.inflated.has(name)) this.inflated.set(name, await inflate(decodeBase64(this.blocks[name])));
    return this.inflated.get(name);
  }
}

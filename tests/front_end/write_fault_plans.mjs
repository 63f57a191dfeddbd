// Writes plans of faults as the detail of a page shows them, for a test that plays the plans.
// Reads `[{name: base64}]` with the blocks of recordings, writes `[[seq, kind, plan]]` for each.
import { readFileSync } from "node:fs";

import { Recording } from "../../acp_proxy/report/front_end/data/recording.js";
import { FAULTS, canFail, planText } from "../../acp_proxy/report/front_end/detail/detail.js";
import { PackedSource } from "./packed_source.mjs";

const written = [];
for (const blocks of JSON.parse(readFileSync(0, "utf-8"))) {
  const recording = await Recording.read(new PackedSource(blocks));
  const plans = [];
  for (let row = 0; row < recording.rows; row++) {
    if (!canFail(recording, row)) continue;
    for (const [kind, , how, settings] of FAULTS) {
      plans.push([recording.numbers("seq").at(row), kind, planText(recording, row, kind, how, settings)]);
    }
  }
  written.push(plans);
}
process.stdout.write(JSON.stringify(written));

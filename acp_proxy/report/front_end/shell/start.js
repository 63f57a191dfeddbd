// Starts a report: reads the recording out of the page, and shows it.
import { embeddedSource } from "../data/source.js";
import { Recording } from "../data/recording.js";
import { App, PRINTED } from "./app.js";
import { clear, h, messageOf, part } from "./dom.js";
import { State } from "./state.js";

/** Reads the recording and shows it. If this fails, shows the reason. */
async function startApp() {
  const root = part("#app");
  root.classList.add("started");
  clear(root, h("p", { class: "message", role: "status" }, "Reading the recording…"));
  try {
    const recording = await Recording.read(embeddedSource);
    const app = new App(root, new State(recording));
    await app.follow(() => app.arrive());
    app.state.on("grew", () => readAhead(recording));
    await readAhead(recording);
    await app.mounted.get("conversation")?.prepared;
  } catch (error) {
    const words = `The data of this page cannot be shown: ${messageOf(error)}`;
    clear(root, h("p", { class: "message" }, words));
    throw error;
  } finally {
    part("#unfinished")?.remove();
  }
}

/** Reads the rows that may be printed, since printing cannot wait. @param {Recording} recording */
async function readAhead({ rows, entries, cells }) {
  await entries.ready();
  for (let row = 0; row < (rows > 8000 ? PRINTED : rows); row += PRINTED) await cells(row);
}

void startApp();

// Starts a report: reads the recording out of the page, and shows it.
import { embeddedSource } from "../data/source.js";
import { Recording } from "../data/recording.js";
import { App } from "./app.js";
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
  } catch (error) {
    const words = `The data of this page cannot be shown: ${messageOf(error)}`;
    clear(root, h("p", { class: "message" }, words));
    throw error;
  }
}

void startApp();

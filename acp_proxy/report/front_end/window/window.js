// Starts the live window: shows the recording that the path of the address names, or all.
import { AllRecordings } from "./all_recordings.js";
import { Connection } from "./connection.js";
import { LiveRecording } from "./live_recording.js";

const RECORDING_PATH = /^\/r\/([^/]+)$/;

function startWindow() {
  const [, name] = RECORDING_PATH.exec(location.pathname) ?? [];
  const [root, head, bar] = ["app", "head", "bar"].map((id) =>
    /** @type {HTMLElement} */ (document.getElementById(id)));
  document.getElementById("unfinished")?.remove();
  if (name) {
    const live = new LiveRecording(new Connection(), decodeURIComponent(name), { root, head, bar });
    void live.run();
  } else void new AllRecordings(new Connection(), { root, head }).run();
}

startWindow();

// Starts the live window: shows the recording that the path of the address names, or all.
import { AllRecordings } from "./all_recordings.js";
import { Connection } from "./connection.js";
import { copyOf } from "./listed.js";
import { LiveRecording } from "./live_recording.js";
import { Task } from "./task.js";

const RECORDING_PATH = /^\/r\/([^/]+)$/;

function startWindow() {
  const [, name] = RECORDING_PATH.exec(location.pathname) ?? [];
  const [root, head, bar] = ["app", "head", "bar"].map((id) =>
    /** @type {HTMLElement} */ (document.getElementById(id)));
  document.getElementById("unfinished")?.remove();
  if (name) {
    const live = new LiveRecording(new Connection(), decodeURIComponent(name), { root, head, bar });
    void live.run();
    const element = copyOf("task-parts");
    const task = new Task(live.connection, element);
    const menu = task.menu("Save or copy", () => ({ name: live.name, path: live.name }));
    bar.querySelector(".bar-tools")?.append(element, menu);
  } else void new AllRecordings(new Connection(), { root, head }).run();
}

startWindow();

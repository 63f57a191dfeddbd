// Starts the live window: shows the recording that the path of the address names, or all.
import { h } from "../shell/dom.js";
import { AllRecordings } from "./all_recordings.js";
import { Connection } from "./connection.js";
import { copyOf, fragmentOf } from "./listed.js";
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
    const back = h("a", { class: "to-list" }, "All recordings");
    back.href = `/${fragmentOf({ token: live.connection.token })}`;
    bar.querySelector(".bar-tools")?.append(element, menu, back);
  } else {
    const list = new AllRecordings(new Connection(), { root, head });
    Object.assign(window, { acpRecordings: list });
    void list.run();
  }
}

startWindow();

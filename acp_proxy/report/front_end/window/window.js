// Starts the live window: shows the recording that the path of the address names, or all.
import { part } from "../shell/dom.js";
import { AllRecordings } from "./all_recordings.js";
import { Connection } from "./connection.js";
import { fragmentOf } from "./listed.js";
import { LiveRecording } from "./live_recording.js";
import { Task } from "./task.js";

function startWindow() {
  const [, name] = /^\/r\/([^/]+)$/.exec(location.pathname) ?? [];
  const connection = new Connection();
  window.addEventListener("hashchange", (event) => {
    const given = new URLSearchParams(location.hash.slice(1)).get("token");
    if (!given || given === connection.token) return;
    event.stopImmediatePropagation();
    location.reload();
  });
  if (!name) {
    const list = new AllRecordings(connection);
    Object.assign(window, { acpRecordings: list });
    return list.run();
  }
  const live = new LiveRecording(connection, decodeURIComponent(name));
  const back = part(".to-list");
  back.href = `/${fragmentOf({ token: connection.token })}`;
  const task = new Task(connection);
  part(".saving").onclick = () => task.save(live.name, "report");
  back.before(task.menu("Save or copy", () => live));
  return live.run();
}

void startWindow();

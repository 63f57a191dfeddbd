// Starts the page: decompresses the main script and runs it. To keep the file small, the main
// script is a compressed block of data. The content policy of the page allows scripts only by their
// hashes.
import { decodeText, embeddedSource } from "../data/source.js";

/** Runs the script; shows a message if the browser cannot run it. */
async function loadPage() {
  const element = document.createElement("script");
  try {
    const text = decodeText(await embeddedSource.bytes("script"));
    const types = /** @type {any} */ (window).trustedTypes;
    const policy = types?.createPolicy("acp-report-script", { createScript: () => text });
    element.textContent = policy ? policy.createScript("") : text;
    document.body.append(element);
    element.remove();
  } catch (error) {
    const place = document.getElementById("app");
    if (place) place.textContent = `This browser cannot show the messages: ${error}`;
    throw error;
  }
}

void loadPage();

// What no module of the front end may do: mostly, let recorded text become markup or code.
import { existsSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";

const SINKS = [
  "innerHTML", "outerHTML", "insertAdjacentHTML", "setHTMLUnsafe", "parseHTMLUnsafe", "srcdoc",
  "createContextualFragment", "execCommand",
];
const REQUESTS = ["fetch", "XMLHttpRequest", "WebSocket", "EventSource", "sendBeacon", "importScripts"];
const BROWSER = [
  "AbortController", "Blob", "CSS", "CustomEvent", "DecompressionStream", "Document", "Element", "Event", "FormData",
  "EventTarget", "FinalizationRegistry", "HTMLElement", "IntersectionObserver", "KeyboardEvent", "MessageChannel",
  "MessageEvent", "MouseEvent", "Node", "PointerEvent", "ReadableStream", "ResizeObserver", "Response", "SVGElement",
  "TextDecoder", "TextEncoder", "URL", "URLSearchParams", "WheelEvent", "Worker", "atob", "btoa",
  "cancelAnimationFrame", "clearInterval", "clearTimeout", "console", "document", "getComputedStyle",
  "globalThis", "history", "innerHeight", "innerWidth", "location", "matchMedia", "navigator",
  "performance", "queueMicrotask", "requestAnimationFrame", "self", "setInterval", "setTimeout", "structuredClone",
  "trustedTypes", "window",
];

const readonly = (names) => Object.fromEntries(names.map((name) => [name, "readonly"]));
const banned = (names, message) => names.map((property) => ({ property, message }));

/** Modules are joined to one script: an import is one line, gives no other name, and leads not back. */
const joinable = {
  meta: { type: "problem", schema: [] },
  create: (context) => ({
    ImportDeclaration(node) {
      if (node.loc.start.line !== node.loc.end.line) {
        context.report({ node, message: "An import is one line." });
      }
      if (node.specifiers.some((one) => one.imported && one.imported.name !== one.local.name)) {
        context.report({ node, message: "An import gives no other name." });
      }
      if (reached(context.filename, node.source.value).has(context.filename)) {
        context.report({ node, message: "This import leads back to this module." });
      }
    },
  }),
};

/** Braces on one line have a blank within. */
const spaced = {
  meta: { type: "layout", schema: [] },
  create: (context) => ({
    Program(node) {
      node.tokens.forEach((token, place, { [place + 1]: next }) => {
        const isOpening = token.value === "{" && next?.value !== "}";
        const isClosing = next?.value === "}" && token.value !== "{";
        const isTouching = next?.range[0] === token.range[1];
        if (isTouching && (isOpening || isClosing)) context.report({ loc: token.loc, message: "Expected a blank." });
      });
    },
  }),
};

const reached = (file, source) => {
  const seen = new Set();
  const waiting = [resolve(dirname(file), source)];
  while (waiting.length) {
    const next = waiting.pop();
    if (!seen.has(next) && existsSync(next)) {
      for (const found of readFileSync(next, "utf-8").matchAll(/^import .* from "(\.[^"]*)";/gm)) {
        waiting.push(resolve(dirname(next), found[1]));
      }
    }
    seen.add(next);
  }
  return seen;
};

const COMMON = {
  "no-undef": "error",
  "no-unused-vars": "error",
  "no-var": "error",
  "prefer-const": "error",
  eqeqeq: "error",
};

export default [
  {
    files: ["acp_proxy/report/front_end/**/*.js"],
    languageOptions: { ecmaVersion: 2023, sourceType: "module", globals: readonly(BROWSER) },
    linterOptions: { noInlineConfig: true },
    plugins: { ours: { rules: { joinable, spaced } } },
    rules: {
      ...COMMON,
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-new-func": "error",
      "no-script-url": "error",
      "no-restricted-globals": ["error", ...REQUESTS, "DOMParser", "eval"],
      "no-restricted-properties": [
        "error",
        ...banned(SINKS, "Recorded text is shown as text alone."),
        ...banned(REQUESTS, "A report makes no requests."),
        { object: "document", property: "write" },
        { object: "document", property: "writeln" },
      ],
      "no-restricted-syntax": [
        "error",
        { selector: "ExportDefaultDeclaration", message: "Names are unique over all modules." },
        { selector: "ExportAllDeclaration", message: "Names are unique over all modules." },
        { selector: "ImportExpression", message: "All modules are joined to one script." },
        { selector: "ImportDefaultSpecifier, ImportNamespaceSpecifier", message: "Import by name." },
        {
          selector: "CallExpression[callee.property.name=/^setAttribute(NS)?$/] > Literal[value=/^(style|on.*|href|src|srcdoc|action)$/i]",
          message: "Such an attribute may run code or fetch something.",
        },
      ],
      "ours/joinable": "error",
      "ours/spaced": "error",
    },
  },
  {
    // Only this module of the live window makes requests, and only to its own server.
    files: ["acp_proxy/report/front_end/window/connection.js"],
    rules: { "no-restricted-properties": ["error", ...banned(SINKS, "Recorded text is shown as text alone.")] },
  },
  {
    files: ["tests/front_end/**/*.mjs"],
    languageOptions: {
      ecmaVersion: 2023,
      sourceType: "module",
      globals: readonly([...BROWSER, "process", "Buffer"]),
    },
    rules: COMMON,
  },
];

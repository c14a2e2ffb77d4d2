// SPDX-License-Identifier: MIT
// The service worker, where the page is a secure context and comes from its own daemon: it keeps the shell of the console, and says which item of a notification was pressed.
import { tunnel } from "./tunnel";

export function startWorker(): void {
  if (tunnel || !isSecureContext || !("serviceWorker" in navigator)) return;
  navigator.serviceWorker.register("/sw.js").catch(() => {});
  navigator.serviceWorker.addEventListener("message", (e) => {
    const hash = (e.data as { hash?: string }).hash;
    if (hash?.startsWith("#/")) location.hash = hash;
  });
}

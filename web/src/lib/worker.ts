// SPDX-License-Identifier: MIT
// The service worker and notifications, where the page is a secure context. Notifications come from the feed while a page is open.
import { effect } from "@preact/signals";
import { w } from "../words";
import { settings } from "./settings";
import { attention } from "./store";

let registration: ServiceWorkerRegistration | null = null;

export function startWorker(): void {
  if (!isSecureContext || !("serviceWorker" in navigator)) return;
  navigator.serviceWorker.register("/sw.js").then((r) => (registration = r), () => {});
  navigator.serviceWorker.addEventListener("message", (e) => {
    const hash = (e.data as { hash?: string }).hash;
    if (hash?.startsWith("#/")) location.hash = hash;
  });
  effect(notifyOfNew);
}

const told = new Set<string>();
let isFirst = true;

/* One notification for each thing that begins to wait, grouped by what it is of; none for what waited when the page was opened. */
function notifyOfNew(): void {
  const items = attention.value.value?.items;
  if (!items) return;
  const fresh = items.filter((i) => !told.has(i.id));
  for (const i of fresh) told.add(i.id);
  const isQuiet = isFirst || !settings.peek().notify || !document.hidden || typeof Notification === "undefined" || Notification.permission !== "granted";
  isFirst = false;
  if (isQuiet) return;
  for (const i of fresh) void registration?.showNotification(w.needs.kinds[i.kind] ?? w.notify.title(1), { body: i.text, tag: i.source || i.id, icon: "/assets/icon.svg", data: { hash: "#/needs" } });
}

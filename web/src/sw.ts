// SPDX-License-Identifier: MIT
// The service worker: keeps the shell of the console, so that an installed one opens without the daemon and says how old its news are, and the loader
// of tunnels, so that a scanned code needs no server. It keeps no answers.
declare const SHELL_FILES: string[];
declare const SHELL_VERSION: string;
export {};

const worker = globalThis as unknown as ServiceWorkerGlobalScope;
const name = `shell-${SHELL_VERSION}`;

worker.addEventListener("install", (e) => {
  e.waitUntil(caches.open(name).then((cache) => cache.addAll(SHELL_FILES)).then(() => worker.skipWaiting()));
});

worker.addEventListener("activate", (e) => {
  e.waitUntil(caches.keys().then((keys) => Promise.all(keys.filter((k) => k !== name).map((k) => caches.delete(k)))).then(() => worker.clients.claim()));
});

/* The page itself comes from the daemon when there is one; files with a hash in their name never change. */
async function page(request: Request): Promise<Response> {
  try {
    return await fetch(request);
  } catch (e) {
    const kept = await caches.match(new URL(request.url).pathname);
    if (kept) return kept;
    throw e;
  }
}

async function file(request: Request): Promise<Response> {
  return (await caches.match(request)) ?? fetch(request);
}

worker.addEventListener("fetch", (e) => {
  const address = new URL(e.request.url);
  if (e.request.method !== "GET" || address.origin !== worker.location.origin) return;
  if (address.pathname === "/" || address.pathname === "/connect") e.respondWith(page(e.request));
  else if (address.pathname.startsWith("/assets/")) e.respondWith(file(e.request));
});

worker.addEventListener("notificationclick", (e) => {
  e.notification.close();
  const hash = String((e.notification.data as { hash?: string } | null)?.hash ?? "#/needs");
  e.waitUntil(worker.clients.matchAll({ type: "window" }).then(async (all) => {
    const open = all[0] as WindowClient | undefined;
    if (!open) return worker.clients.openWindow(`/${hash}`);
    open.postMessage({ hash });
    return open.focus();
  }));
});

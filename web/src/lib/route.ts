// SPDX-License-Identifier: MIT
// Where the page is: "#/view/part/part?key=value". A view can be kept as a bookmark and given to somebody who has a token.
import { signal } from "@preact/signals";

export interface Route {
  view: string;
  parts: string[];
  query: URLSearchParams;
}

function parse(hash: string): Route {
  const [path, query] = hash.replace(/^#\/?/, "").split("?", 2);
  const decode = (s: string) => {
    try {
      return decodeURIComponent(s);
    } catch {
      return s;
    }
  };
  const [view, ...parts] = (path ?? "").split("/").map(decode);
  return { view: view || "fleet", parts, query: new URLSearchParams(query ?? "") };
}

export const route = signal<Route>(parse(location.hash));
/* Where one came from, for "back". */
export const cameFrom = signal("#/fleet");

window.addEventListener("hashchange", (e) => {
  const old = new URL(e.oldURL).hash;
  if (!old.startsWith("#/t/")) cameFrom.value = old || "#/fleet";
  route.value = parse(location.hash);
});

export function link(...parts: string[]): string {
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

export function go(...parts: string[]): void {
  location.hash = link(...parts);
}

/* The address was changed without a word to anybody: the token was taken out of it. */
export function arrive(): void {
  route.value = parse(location.hash);
}

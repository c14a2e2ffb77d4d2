// SPDX-License-Identifier: MIT
// Whether the daemon has another console than this page: asked when another run of the daemon answers, and when a part of this page cannot be had any more. It
// is only said; the page goes on until somebody reloads it.
import { signal } from "@preact/signals";
import { onReset } from "../lib/link";
import { tunnel } from "../lib/tunnel";

export const isNewer = signal(false);

/* The name of our script carries the hash of its content. A page that did not come from the daemon by that name (a tunnel) cannot be compared. */
function ownScript(): string {
  const script = document.querySelector<HTMLScriptElement>("script[type=module][src^='/assets/']");
  return script?.getAttribute("src") ?? "";
}

export async function compare(): Promise<void> {
  const own = ownScript();
  if (tunnel || !own || isNewer.peek()) return;
  try {
    const answer = await fetch("/", { cache: "no-cache" });
    const text = await answer.text();
    if (answer.ok && text.includes("<html") && !text.includes(own)) isNewer.value = true;
  } catch {
    /* Nobody answers: then nothing is known. */
  }
}

export function startCompare(): void {
  onReset((why) => {
    if (why === "epoch") void compare();
  });
}

// SPDX-License-Identifier: MIT
// The last list of the fleet, kept on a device that has a token of its own, so that an installed console which is opened without the daemon shows what was there
// and how old that is. It goes with the token. A tab that came by a server's token keeps nothing.
import { effect } from "@preact/signals";
import { hasDeviceToken, refusal } from "../lib/auth";
import { processes, type Process } from "../lib/store";

const KEY = "muster_fleet";
const ROWS_MAX = 200;

export function startKept(): void {
  if (!hasDeviceToken()) return;
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? "null") as { at: number; processes: Process[] } | null;
    if (kept && processes.value.peek() === null) {
      processes.value.value = kept.processes;
      processes.at.value = kept.at;
    }
  } catch {
    localStorage.removeItem(KEY);
  }
  const keep = () => {
    const list = processes.value.peek();
    if (list && hasDeviceToken()) localStorage.setItem(KEY, JSON.stringify({ at: processes.at.peek(), processes: list.slice(0, ROWS_MAX) }));
  };
  /* When the page is left, or put away by a phone: then it may not come back. */
  addEventListener("pagehide", keep);
  document.addEventListener("visibilitychange", () => document.hidden && keep());
  effect(() => {
    if (refusal.value) localStorage.removeItem(KEY);
  });
}

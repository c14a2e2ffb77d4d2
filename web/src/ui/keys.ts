// SPDX-License-Identifier: MIT
// Keys of the whole page. In a field only those with Ctrl count, in a terminal none: there they are the program's. Single letters can be switched off.
import { isNarrow } from "../lib/link";
import { go } from "../lib/route";
import { settings } from "../lib/settings";
import { openHelp, openPalette, overlay, showCommand } from "./overlay";

const JUMPS: Record<string, string> = { f: "fleet", t: "tasks", c: "chat", n: "needs", g: "grid", l: "timeline", r: "recordings", u: "usage", s: "settings", o: "company", "/": "search" };
let prefix = 0;

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.closest(".xterm") !== null);
}

function isTerminal(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest(".xterm") !== null;
}

/* Rows that j and k walk over say so by data-row. */
function walk(step: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>("[data-row]")].filter((r) => r.offsetParent !== null);
  const at = rows.findIndex((r) => r === document.activeElement || r.contains(document.activeElement));
  const seen = rows.findIndex((r) => r.getBoundingClientRect().bottom > 60);
  rows[at < 0 ? (step > 0 ? Math.max(0, seen) : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + step))]?.focus();
}

function letter(key: string): boolean {
  if (Date.now() - prefix < 1500 && JUMPS[key]) {
    prefix = 0;
    go(JUMPS[key] ?? "fleet");
    return true;
  }
  prefix = 0;
  if (key === "g") prefix = Date.now();
  else if (key === "j") walk(1);
  else if (key === "k") walk(-1);
  else if (key === "n") go("new");
  else if (key === "c") return showCommand(document.activeElement);
  else if (key === "?") openHelp();
  else if (key === "/") document.querySelector<HTMLInputElement>("[data-filter]")?.focus();
  else if (key === "e") document.activeElement?.closest("[data-row]")?.querySelector<HTMLButtonElement>("[data-hotkey=e]")?.click();
  else return false;
  return true;
}

export function startKeys(): void {
  /* The right button, a long press, or the menu key: what the same is on the command line. */
  window.addEventListener("contextmenu", (e) => {
    if (showCommand(e.target)) e.preventDefault();
  });
  window.addEventListener("keydown", (e) => {
    if ((e.ctrlKey || e.metaKey) && !e.shiftKey && !e.altKey && e.key.toLowerCase() === "k" && !isTerminal(e.target) && !isNarrow.peek()) {
      e.preventDefault();
      openPalette();
      return;
    }
    if (isNarrow.peek() || overlay.peek() || e.ctrlKey || e.metaKey || e.altKey || isTyping(e.target)) return;
    if (settings.peek().letterKeys && letter(e.key)) e.preventDefault();
  }, true);
}

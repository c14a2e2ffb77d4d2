// SPDX-License-Identifier: MIT
// The bytes of keys that a phone does not have, with modifiers as xterm sends them. Arrows honour application mode.
export interface Modifiers {
  ctrl: boolean;
  alt: boolean;
}

const ARROWS: Record<string, string> = { up: "A", down: "B", right: "C", left: "D" };
const PLAIN: Record<string, string> = { esc: "\x1b", tab: "\t", backtab: "\x1b[Z", slash: "/", pipe: "|", enter: "\r" };

export function keyBytes(key: string, mods: Modifiers, isAppCursor: boolean): string {
  const arrow = ARROWS[key];
  if (arrow) {
    const n = 1 + (mods.alt ? 2 : 0) + (mods.ctrl ? 4 : 0);
    return n > 1 ? `\x1b[1;${n}${arrow}` : `\x1b${isAppCursor ? "O" : "["}${arrow}`;
  }
  return modified(PLAIN[key] ?? "", mods);
}

/* A letter that was typed while Ctrl or Alt of the key bar was held. */
export function modified(data: string, mods: Modifiers): string {
  let out = data;
  if (mods.ctrl && data.length === 1) {
    const c = data.toUpperCase().charCodeAt(0);
    if (c >= 64 && c <= 95) out = String.fromCharCode(c & 31);
    else if (data === " ") out = "\0";
    else if (data === "?") out = "\x7f";
  }
  return mods.alt ? `\x1b${out}` : out;
}

/* Pasting this wants a look first: many lines, or something that is no text. */
export function isRiskyPaste(text: string): boolean {
  return text.split(/\r?\n/).length > 5 || /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/.test(text);
}

// SPDX-License-Identifier: MIT
// What a phone's keyboard lacks: a row of keys with modifiers that hold (tap: once, long press: locked), and a real text field whose content is typed in one
// piece, so that dictation and suggestions of the phone work and no word is doubled.
import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { keyBytes } from "../term/keys";
import { w } from "../words";

export type Hold = "off" | "once" | "locked";
export interface Held {
  ctrl: Hold;
  alt: Hold;
}

const KEYS = ["esc", "tab", "backtab", "ctrl", "alt", "up", "down", "left", "right", "slash", "pipe", "enter"] as const;
const REPEATS: readonly string[] = ["up", "down", "left", "right", "tab", "backtab"];
const LONG_MS = 450;

interface KeyBarProps {
  held: Signal<Held>;
  isAppCursor: () => boolean;
  onBytes: (bytes: string) => void;
}

export function KeyBar({ held, isAppCursor, onBytes }: KeyBarProps) {
  const timer = useRef<number | undefined>(undefined);
  const wasLong = useRef(false);
  const press = (key: string) => {
    if (key === "ctrl" || key === "alt") {
      held.value = { ...held.value, [key]: held.value[key] === "off" ? "once" : "off" };
      return;
    }
    onBytes(keyBytes(key, { ctrl: held.value.ctrl !== "off", alt: held.value.alt !== "off" }, isAppCursor()));
    held.value = { ctrl: held.value.ctrl === "once" ? "off" : held.value.ctrl, alt: held.value.alt === "once" ? "off" : held.value.alt };
  };
  const stop = () => {
    clearTimeout(timer.current);
    clearInterval(timer.current);
  };
  const begin = (key: string) => {
    stop();
    wasLong.current = false;
    timer.current = setTimeout(() => {
      wasLong.current = true;
      if (key === "ctrl" || key === "alt") held.value = { ...held.value, [key]: "locked" };
      else if (REPEATS.includes(key)) timer.current = setInterval(() => press(key), 60) as unknown as number;
      else wasLong.current = false;
    }, LONG_MS) as unknown as number;
  };
  useEffect(() => stop, []);
  const labels = w.term.keys as Record<string, string>;
  return (
    <div class="keybar" role="toolbar" aria-label={w.term.keys.label}>
      {KEYS.map((key) => {
        const hold = key === "ctrl" || key === "alt" ? held.value[key] : undefined;
        return (
          <button key={key} type="button" class={hold && hold !== "off" ? `held held-${hold}` : ""} aria-pressed={hold ? hold !== "off" : undefined} aria-label={labels[`${key}_`]} data-key={key}
            onPointerDown={(e) => (e.preventDefault(), begin(key))} onPointerUp={stop} onPointerLeave={stop} onPointerCancel={stop} onContextMenu={(e) => e.preventDefault()}
            onClick={() => (wasLong.current ? (wasLong.current = false) : press(key))}>{labels[key]}{hold === "locked" && <span class="offscreen"> {w.term.keyLocked}</span>}</button>
        );
      })}
    </div>
  );
}

interface ComposeProps {
  onText: (text: string) => boolean;
  onEnter: (taken: (isTaken: boolean) => void) => boolean;
}

export function ComposeBar({ onText, onEnter }: ComposeProps) {
  const text = useSignal("");
  const receipt = useSignal("");
  const send = () => {
    if (!onText(text.value)) {
      receipt.value = w.notLive;
      return;
    }
    receipt.value = w.term.handing;
    text.value = "";
    /* Enter is a key of its own: many programs take one that comes with the text for a line of it. */
    setTimeout(() => {
      if (!onEnter((isTaken) => (receipt.value = isTaken ? w.term.handed : w.term.refused))) receipt.value = w.notLive;
    }, 60);
  };
  return (
    <form class="compose" onSubmit={(e) => (e.preventDefault(), send())}>
      <textarea rows={1} enterkeyhint="send" aria-label={w.term.compose} placeholder={w.term.compose} value={text.value} onInput={(e) => (text.value = e.currentTarget.value)}
        onKeyDown={(e) => e.key === "Enter" && !e.shiftKey && !e.isComposing && (e.preventDefault(), send())} />
      <button class="primary" aria-label={w.term.composeSend}>⏎</button>
      <span class="receipt" role="status">{receipt.value}</span>
    </form>
  );
}

// SPDX-License-Identifier: MIT
// The time, as a signal that ticks once a second while the page is seen. Ages are computed from it, never counted, so a tab that slept is right at once.
import { signal } from "@preact/signals";

export const now = signal(Date.now());

let timer: number | undefined;

function tick(): void {
  now.value = Date.now();
}

function follow(): void {
  clearInterval(timer);
  timer = undefined;
  tick();
  if (!document.hidden) timer = setInterval(tick, 1000) as unknown as number;
}

document.addEventListener("visibilitychange", follow);
addEventListener("pageshow", follow);
follow();

const clockText = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const dayText = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const numberText = new Intl.NumberFormat();

/* The time of day; with the day when it is another one than today. */
export function clock(at: number | string): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return "–";
  return date.toDateString() === new Date(now.peek()).toDateString() ? clockText.format(date) : dayText.format(date);
}

export function number(n: number): string {
  return numberText.format(n);
}

export function age(at: number | string | undefined | null, from: number = now.value): string {
  if (at === undefined || at === null || at === "") return "–";
  const ms = from - new Date(at).getTime();
  if (Number.isNaN(ms)) return "–";
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 100) return `${s} s`;
  if (s < 100 * 60) return `${Math.round(s / 60)} min`;
  if (s < 48 * 3600) return `${Math.round(s / 3600)} h`;
  return `${Math.round(s / 86400)} d`;
}

export function bytes(n: number | undefined): string {
  if (n === undefined) return "–";
  if (n < 1000) return `${n} B`;
  if (n < 1e6) return `${(n / 1e3).toFixed(n < 1e4 ? 1 : 0)} kB`;
  if (n < 1e9) return `${(n / 1e6).toFixed(n < 1e7 ? 1 : 0)} MB`;
  return `${(n / 1e9).toFixed(1)} GB`;
}

// SPDX-License-Identifier: MIT
// The time, as a signal that ticks once a second while the page is seen. Ages are computed from it, never counted, so a tab that slept is right at once.
import { signal } from "@preact/signals";
import { w } from "../words";

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
const dateText = new Intl.DateTimeFormat(undefined, { weekday: "short", month: "short", day: "numeric" });
const numberText = new Intl.NumberFormat();
const tenthText = new Intl.NumberFormat(undefined, { minimumFractionDigits: 1, maximumFractionDigits: 1 });

/* The time of day; with the day when it is another one than today. */
export function clock(at: number | string): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return "–";
  return date.toDateString() === new Date(now.peek()).toDateString() ? clockText.format(date) : dayText.format(date);
}

/* The day alone, for what is planned. */
export function day(at: string): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? "–" : dateText.format(date);
}

export function number(n: number): string {
  return numberText.format(n);
}

export function age(at: number | string | undefined | null, from: number = now.value): string {
  if (at === undefined || at === null || at === "") return "–";
  const ms = from - new Date(at).getTime();
  if (Number.isNaN(ms)) return "–";
  const s = Math.max(0, Math.round(ms / 1000));
  const [n, unit] = s < 100 ? [s, w.units.s] : s < 100 * 60 ? [s / 60, w.units.min] : s < 48 * 3600 ? [s / 3600, w.units.h] : [s / 86400, w.units.d];
  return `${number(Math.round(n))} ${unit}`;
}

export function bytes(n: number | undefined): string {
  if (n === undefined) return "–";
  const [size, unit] = n < 1000 ? [n, w.units.B] : n < 1e6 ? [n / 1e3, w.units.kB] : n < 1e9 ? [n / 1e6, w.units.MB] : [n / 1e9, w.units.GB];
  return `${n >= 1000 && (size < 10 || n >= 1e9) ? tenthText.format(size) : number(Math.round(size))} ${unit}`;
}

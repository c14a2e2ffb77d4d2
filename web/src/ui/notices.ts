// SPDX-License-Identifier: MIT
// Notifications of what begins to wait while nobody looks: of the kinds that were chosen, one for each agent however much waits of it, none in quiet hours. They
// come from the feed while a page or the installed app is open; a press opens the item.
import { effect } from "@preact/signals";
import { settings, type Settings } from "../lib/settings";
import { attention, shorten, type Attention } from "../lib/store";
import { w } from "../words";
import { visible } from "./agent-text";
import { placeOf } from "./place";

export interface Notice {
  title: string;
  body: string;
  tag: string;
  hash: string;
}

function minutes(clock: string): number | null {
  const found = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(clock);
  return found ? Number(found[1]) * 60 + Number(found[2]) : null;
}

/* From the first time until before the second, over midnight too; none when one is missing or both are equal. */
export function isQuiet(from: string, to: string, at: Date): boolean {
  const begin = minutes(from);
  const end = minutes(to);
  if (begin === null || end === null || begin === end) return false;
  const now = at.getHours() * 60 + at.getMinutes();
  return begin < end ? now >= begin && now < end : now >= begin || now < end;
}

/* What is told of fresh items, one notice for each agent: its newest text, and how much waits of it in all. The tag replaces an older notice of the same agent. */
export function noticesOf(fresh: Attention[], open: Attention[]): Notice[] {
  const agents = new Map<string, Attention[]>();
  for (const i of fresh) agents.set(i.source || i.id, [...(agents.get(i.source || i.id) ?? []), i]);
  return [...agents].map(([source, mine]) => {
    const newest = mine[mine.length - 1] as Attention;
    const n = Math.max(mine.length, open.filter((i) => (i.source || i.id) === source).length);
    const kind = w.needs.kinds[newest.kind] ?? newest.kind;
    const title = n > 1 ? w.notify.several(shorten(source), n) : `${shorten(source)}: ${kind}`;
    return { title, body: visible(newest.text).slice(0, 300), tag: source, hash: n > 1 ? "#/needs" : placeOf(newest) ?? "#/needs" };
  });
}

export function isWanted(kind: string, s: Settings): boolean {
  return s.notifyKinds[kind] !== false;
}

const told = new Set<string>();
let isFirst = true;

/* None for what waited already when the page was opened. */
function tellOfNew(): void {
  const items = attention.value.value?.items;
  if (!items) return;
  const fresh = items.filter((i) => !told.has(i.id));
  for (const i of fresh) told.add(i.id);
  const s = settings.peek();
  const isSilent = isFirst || !s.notify || !document.hidden || typeof Notification === "undefined" || Notification.permission !== "granted" || isQuiet(s.quietFrom, s.quietTo, new Date());
  isFirst = false;
  if (isSilent) return;
  const open = items.filter((i) => isWanted(i.kind, s));
  const all = noticesOf(fresh.filter((i) => isWanted(i.kind, s)), open);
  if (all.length === 0) return;
  void navigator.serviceWorker.ready.then((registration) => {
    for (const n of all) void registration.showNotification(n.title, { body: n.body, tag: n.tag, icon: "/assets/icon-192.png", badge: "/assets/icon-192.png", data: { hash: n.hash } });
  });
}

export function startNotices(): void {
  if (isSecureContext && "serviceWorker" in navigator) effect(tellOfNew);
}

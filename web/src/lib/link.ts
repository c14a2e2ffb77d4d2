// SPDX-License-Identifier: MIT
// The link to the daemon: one connection for calls and one for the feed, opened again whenever they end, and what is known of them. Everything that is shown
// hangs on the feed: an item says what has changed, a gap or another epoch that all of it may have.
import { signal } from "@preact/signals";
import { isTokenRefused, refusal } from "./auth";
import { Backoff, onWake } from "./backoff";
import { CallError, LinkError, Rpc } from "./rpc";
import { tunnel } from "./tunnel";

export interface FeedItem {
  /* Missing of what a search has found in a file. */
  number?: number;
  at: string;
  domain: string;
  owner: string;
  kind: string;
  position: number | null;
  event: Record<string, unknown> | null;
  part?: string;
}

export type LinkState = "connecting" | "live" | "lost";
export const linkState = signal<LinkState>("connecting");
export const latencyMs = signal<number | null>(null);
/* When the daemon was last heard of, in milliseconds. */
export const lastNews = signal(0);
/* The token is for one hosted thing alone. */
export const isNarrow = signal(false);
/* Another run of the daemon answered than before: when that was noticed. */
export const restartedAt = signal(0);

const FORBIDDEN = "forbidden";

type ItemListener = (item: FeedItem) => void;
type ResetListener = (why: "first" | "gap" | "epoch" | "back") => void;
const itemListeners = new Set<ItemListener>();
const resetListeners = new Set<ResetListener>();

export function onItem(listener: ItemListener): () => void {
  itemListeners.add(listener);
  return () => itemListeners.delete(listener);
}

/* Told when what is shown has to be loaded anew. */
export function onReset(listener: ResetListener): () => void {
  resetListeners.add(listener);
  return () => resetListeners.delete(listener);
}

export interface Gap {
  from: number;
  to: number;
  at: number;
}
export const gaps = signal<Gap[]>([]);

const calls = new Rpc("rpc");
const feed = new Rpc("feed");
let epoch = "";
let number = 0;
let wasLive = false;
const again = new Backoff(connect);

function heard(): void {
  lastNews.value = Date.now();
}

/* Both connections are opened and closed together: half a link helps nobody. */
function connect(): void {
  if (refusal.peek()) return;
  if (linkState.peek() === "live") linkState.value = "lost";
  feed.close();
  calls.open();
}

calls.onopen = () => feed.open();
calls.onlatency = (ms) => {
  heard();
  latencyMs.value = Math.round(ms);
};
feed.onopen = () => void follow();
feed.onnotice = (method, params) => {
  heard();
  if (method === "feed.item") {
    const item = params as FeedItem;
    number = item.number ?? number;
    for (const listener of itemListeners) listener(item);
  } else if (method === "feed.gap") {
    const gap = params as { from: number; to: number };
    number = Math.max(number, gap.to);
    if (gap.from > 0) {
      gaps.value = [...gaps.value.slice(-20), { ...gap, at: Date.now() }];
      reset("gap");
    }
  }
};

function reset(why: "first" | "gap" | "epoch" | "back"): void {
  for (const listener of resetListeners) listener(why);
}

async function follow(): Promise<void> {
  try {
    const before = epoch;
    const answer = await feed.call<{ epoch: string; number: number; oldest: number }>("feed.follow", before ? { after: number, epoch: before } : {});
    epoch = answer.epoch;
    if (before !== epoch) number = answer.number;
    again.reset();
    heard();
    linkState.value = "live";
    if (before && before !== epoch) restartedAt.value = Date.now();
    reset(!wasLive ? "first" : before === epoch ? "back" : "epoch");
    wasLive = true;
  } catch (e) {
    if (e instanceof CallError && e.code === FORBIDDEN) narrow();
    else if (e instanceof CallError) again.wait();
  }
}

/* A link to one agent may not hear of the others: there is no feed, and what is shown is what calls and the terminal say. */
function narrow(): void {
  feed.close();
  isNarrow.value = true;
  again.reset();
  heard();
  linkState.value = "live";
  reset(wasLive ? "back" : "first");
  wasLive = true;
}

async function ended(code: number, wasOpen: boolean): Promise<void> {
  calls.close();
  feed.close();
  linkState.value = wasLive ? "lost" : "connecting";
  if (code === 4401 || (!wasOpen && (await isTokenRefused()))) {
    refusal.value = tunnel ? "tunnel" : "invalid";
    return;
  }
  if (!calls.isOpen && !again.isWaiting) again.wait();
}
calls.onclose = (code, wasOpen) => void ended(code, wasOpen);
feed.onclose = (code, wasOpen) => void ended(code, wasOpen);

/* After sleep a connection may look open and be dead: a short question tells, and its silence ends the connection. */
function wake(): void {
  if (document.hidden || refusal.peek()) return;
  if (calls.isOpen) calls.call("daemon.whoami", {}, 3000).catch((e: unknown) => e instanceof LinkError && linkState.peek() !== "live" && again.now());
  else if (again.isWaiting) again.now();
}

export function start(): void {
  onWake(wake);
  connect();
}

/* Try now instead of when it is due. */
export function retry(): void {
  tunnel?.retry();
  if (linkState.peek() !== "live") again.now();
}

/* A call is refused while the link is down: it is not kept for later. */
export function call<T = Record<string, unknown>>(method: string, params: object = {}): Promise<T> {
  return calls.call<T>(method, params);
}

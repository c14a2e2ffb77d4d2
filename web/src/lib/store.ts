// SPDX-License-Identifier: MIT
// What is known of the daemon, as signals, each with the moment it was asked for. Lists are loaded when the link comes up and again when the feed says that
// they changed; nothing is asked on a timer.
import { computed, signal } from "@preact/signals";
import { call, linkState, onItem, onReset, type FeedItem } from "./link";
import { CallError } from "./rpc";

export interface Process {
  id: string;
  name?: string;
  owner: string;
  object: string;
  workspace: string;
  command: string;
  kind: "pty" | "pipes";
  sandbox: string;
  state: "starting" | "running" | "ending" | "ended" | "failed" | "lost" | "foreign";
  since: string;
  pid: number;
  started?: string;
  output?: string;
  last_output?: string;
  last_input?: string;
  exit_code?: number;
  bytes: number;
  viewers: number;
  web_viewers?: number;
  adopted: boolean;
  cpu_ms?: number;
  rss_kb?: number;
  recording?: string;
  title?: string;
  cols?: number;
  rows?: number;
  writer?: string;
  attention?: unknown;
  report?: { state: "working" | "waiting" | "idle" | "error"; at: string; note?: string; progress?: number };
}

export interface Attention {
  id: string;
  kind: string;
  since: string;
  source: string;
  owner: string;
  object: string;
  text: string;
  choices: string[];
  state: "open" | "answering" | "answered" | "settled";
  answer?: { choice: string; text: string; by: string; at: string };
}

export interface Info {
  version: string;
  pid: number;
  started_at: string;
  home: string;
  host?: string;
  endpoints: { name: string; dialect: string; state: string; address: string; reason?: string; since: string; clients: number; warning?: string }[];
  console?: unknown;
}

export interface Identity {
  kind?: string;
  scope?: "view" | "control" | "admin";
  label?: string;
  rights?: string[];
  [key: string]: unknown;
}

/* A list with its age. `failed` is why the last try to load it came to nothing; what was there stays. */
export class Loaded<T> {
  readonly value = signal<T | null>(null);
  readonly at = signal(0);
  readonly failed = signal<Error | null>(null);
  private isUnderWay = false;
  private isStale = false;
  private timer: number | undefined;

  constructor(private readonly load: () => Promise<T>) {}

  /* Several wishes in a short time are one question. */
  want(delayMs = 0): void {
    if (this.timer !== undefined) return;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      void this.now();
    }, delayMs) as unknown as number;
  }

  async now(): Promise<void> {
    if (this.isUnderWay) {
      this.isStale = true;
      return;
    }
    this.isUnderWay = true;
    try {
      this.value.value = await this.load();
      this.at.value = Date.now();
      this.failed.value = null;
    } catch (e) {
      if (e instanceof CallError) this.failed.value = e;
    } finally {
      this.isUnderWay = false;
    }
    if (this.isStale) {
      this.isStale = false;
      this.want(100);
    }
  }
}

export const processes = new Loaded(async () => (await call<{ processes: Process[] }>("ps")).processes);
export const attention = new Loaded(() => call<{ items: Attention[]; open: number }>("attention.ls", { state: "open" }));
export const info = new Loaded(() => call<Info>("daemon.info"));
export const identity = new Loaded(() => call<Identity>("daemon.whoami"));

/* Titles of groups by their ids: an actor is called by both. */
export const groups = new Loaded(async () => new Map((await call<{ groups: { group_id?: string; title?: string }[] }>("cccc.groups")).groups.map((g) => [g.group_id ?? "", g.title ?? ""])));

export const scope = computed(() => identity.value.value?.scope ?? "admin");
export const canControl = computed(() => scope.value !== "view");
export const isLive = computed(() => linkState.value === "live");

export const needsCount = computed(() => attention.value.value?.open ?? 0);

/* Ended and lost ones that were taken off the list, on this device. */
export const dismissed = signal<ReadonlySet<string>>(new Set(JSON.parse(sessionStorage.getItem("muster_dismissed") ?? "[]") as string[]));
export function dismiss(id: string): void {
  dismissed.value = new Set([...dismissed.value, id]);
  sessionStorage.setItem("muster_dismissed", JSON.stringify([...dismissed.value].slice(-500)));
}

export function isOver(p: Process): boolean {
  return p.state === "ended" || p.state === "failed" || p.state === "lost" || p.state === "foreign";
}

/* A name without its kind; of an actor with the title of its group instead of the id. */
export function shorten(name: string): string {
  const short = name.replace(/^\w+:/, "");
  if (!name.startsWith("actor:")) return short;
  const [group, actor] = short.split("/", 2);
  return `${groups.value.value?.get(group ?? "") || group}/${actor}`;
}

export function shortName(p: Process): string {
  return p.name ? shorten(p.name) : p.object || p.id.slice(0, 8);
}

export function findProcess(word: string): Process | undefined {
  const all = processes.value.value ?? [];
  return all.find((p) => p.id === word) ?? all.find((p) => p.name === word && !isOver(p)) ?? all.find((p) => p.name === word) ?? all.find((p) => shortName(p) === word);
}

function touched(item: FeedItem): void {
  if (item.domain === "host" || item.domain === "tasks") processes.want(120);
  if (item.domain === "collab" && item.kind.startsWith("group.")) groups.want(200);
  if (item.domain === "attention") attention.want(50);
}

export function startStore(): void {
  onItem(touched);
  onReset((why) => {
    processes.want();
    attention.want();
    if (why !== "back" && why !== "gap") {
      info.want();
      groups.want();
      identity.want();
    }
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && linkState.peek() === "live") processes.want();
  });
}

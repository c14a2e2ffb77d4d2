// SPDX-License-Identifier: MIT
// What is known of the daemon, as signals, each with the moment it was asked for. Lists are loaded when the link comes up and again when the feed says that
// they changed; nothing is asked on a timer.
import { computed, signal } from "@preact/signals";
import { call, isNarrow, linkState, onItem, onReset, type FeedItem } from "./link";
import { CallError } from "./rpc";

/* What an agent does, who says so, and how old that is (docs/agents.md). */
export interface AgentState {
  state: "starting" | "idle" | "working" | "waiting" | "limited" | "error" | "ended" | "lost";
  detail?: string;
  since: string;
  source: "output" | "self" | "transcript" | "hook" | "protocol" | "os";
  at: string;
  doubt: boolean;
  why?: string;
  until?: string;
}

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
  agent?: AgentState;
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

const OWNERS: Record<string, string> = { actor: "collab", session: "sessions", task: "tasks", run: "company" };

/* The one thing that a narrow link is for, as far as it may be told. */
async function theOne(): Promise<Process[]> {
  const { object } = await call<{ object?: string }>("daemon.whoami");
  const found = await call<{ name: string; kind: string; id?: string; state?: Process["state"]; terminal?: boolean; place: string; object: string }>("fleet.find", { name: object });
  return [{
    id: found.id ?? found.name, name: found.name, owner: OWNERS[found.kind] ?? found.kind, object: found.object, workspace: "", command: "", kind: found.terminal === false ? "pipes" : "pty", sandbox: "", state: found.state ?? "ended",
    since: "", pid: 0, bytes: 0, viewers: 0, adopted: false,
  }];
}

export const processes = new Loaded(async () => (isNarrow.peek() ? theOne() : (await call<{ processes: Process[] }>("ps")).processes));
export const attention = new Loaded(() => call<{ items: Attention[]; open: number }>("attention.ls", { state: "open" }));
export interface Sum {
  key?: string;
  tokens: number;
  responses: number;
  reported_usd?: number;
  priced_usd?: number;
  unpriced: number;
}
/* What agents used today (UTC), by their names. */
export const spent = new Loaded(() => call<{ rows: Sum[]; total: Sum }>("usage.report", { by: "name" }));
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

/* A name without its kind; of an actor with the title of its group instead of the id, of a run with the end of its long id. */
export function shorten(name: string): string {
  const short = name.replace(/^\w+:/, "");
  if (name.startsWith("run:")) return short.replace(/(run_)\w{8,}(\w{6})$/, "$1…$2");
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

/* The item has the whole state of the agent: with hundreds that work and rest, nothing is asked for. */
function agentChanged(item: FeedItem): void {
  const agent = (item.event as { agent?: AgentState } | null)?.agent;
  const list = processes.value.peek();
  if (!agent || !list?.some((p) => p.id === item.owner)) processes.want(120);
  else processes.value.value = list.map((p) => (p.id === item.owner ? { ...p, agent, last_output: agent.source === "output" && agent.state === "working" ? agent.at : p.last_output } : p));
}

/* What a turn has cost is known when it is over, and its transcript was read. */
const SPENT_MS = 3000;
const TURN_OVER: readonly string[] = ["idle", "limited", "error", "ended", "lost"];

function touched(item: FeedItem): void {
  if (item.domain === "agent") agentChanged(item);
  if (item.domain === "agent" && spent.value.peek() && TURN_OVER.includes((item.event as { agent?: AgentState } | null)?.agent?.state ?? "")) spent.want(SPENT_MS);
  if (item.domain === "host" || item.domain === "tasks") processes.want(120);
  if (item.domain === "collab" && item.kind.startsWith("group.")) groups.want(200);
  if (item.domain === "attention") attention.want(50);
}

export function startStore(): void {
  onItem(touched);
  onReset((why) => {
    processes.want();
    if (isNarrow.peek()) {
      identity.want();
      return;
    }
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

// SPDX-License-Identifier: MIT
// What happened, a line for each thing: when, which contract, what, who. A press leads to the chat line, the task, the workspace, or the terminal; to its recording
// at that moment where there is one.
import { clock } from "../lib/clock";
import type { FeedItem } from "../lib/link";
import { link } from "../lib/route";
import { findProcess, groups, shorten, shortName } from "../lib/store";
import { visible } from "../ui/agent-text";
import { w } from "../words";
import { momentOf, type Recording } from "./recording-list";

function agentWords(agent: unknown): string {
  const { state, detail } = (agent ?? {}) as { state?: string; detail?: string };
  return [state, detail].filter(Boolean).join(": ");
}

export function textOf(item: FeedItem): string {
  const e = item.event ?? {};
  const data = (e.data ?? {}) as Record<string, unknown>;
  const words = [data.text, data.title, e.text, e.title, e.prompt, e.note, e.label, agentWords(e.agent)].find((x) => typeof x === "string" && x !== "");
  return visible(typeof words === "string" ? words : item.part ?? "");
}

function lastPart(path: string): string {
  return path.replace(/\/+$/, "").split("/").pop() ?? path;
}

export function whoOf(item: FeedItem): string {
  const e = item.event ?? {};
  if (item.domain === "host" || item.domain === "agent") {
    const p = findProcess(item.owner);
    return p ? shortName(p) : typeof e.name === "string" ? shorten(e.name) : String(e.object ?? item.owner);
  }
  if (item.domain === "tasks") return [lastPart(item.owner), e.id ?? e.taskId].filter(Boolean).join("/");
  if (item.domain === "company") return lastPart(item.owner);
  if (item.domain === "collab") return [groups.value.value?.get(item.owner) || item.owner, e.by].filter(Boolean).join("/");
  return shorten(item.owner);
}

export function placeOfEvent(item: FeedItem, recordings: Recording[]): string {
  if (item.domain === "host" || item.domain === "agent") return momentOf(recordings, findProcess(item.owner)?.name, item.at) ?? link("t", item.owner);
  if (item.domain === "collab") return link("chat", item.owner, String(item.event?.id ?? ""));
  if (item.domain === "company") return link("company", item.owner);
  if (item.domain === "web") return link("settings");
  return item.domain === "tasks" ? link("tasks", item.owner, String(item.event?.id ?? item.event?.taskId ?? "")) : link("needs");
}

/* What the feed told and a search finds again is one thing: an event has an id, anything else its time and kind. */
export function keyOf(i: FeedItem): string {
  const id = i.event?.id;
  return i.domain === "collab" && typeof id === "string" ? id : i.number !== undefined ? `#${i.number}` : `${i.at} ${i.owner} ${i.kind}`;
}

export function EventRows({ rows, recordings }: { rows: FeedItem[]; recordings: Recording[] }) {
  return (
    <ol class="timeline" role="list">
      {rows.map((i) => (
        <li key={keyOf(i)}><a data-row href={placeOfEvent(i, recordings)}><time dateTime={i.at}>{clock(i.at)}</time> <span class="tl-domain">{w.domains[i.domain] ?? i.domain}</span> <span class="tl-kind">{i.kind}</span> <span class="tl-who" title={i.owner}>{whoOf(i)}</span> <span class="tl-text">{textOf(i).slice(0, 300)}</span></a></li>
      ))}
    </ol>
  );
}

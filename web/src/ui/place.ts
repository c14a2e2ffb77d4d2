// SPDX-License-Identifier: MIT
// Where something that waits can be looked at: a line of a chat, a task, a terminal.
import { link } from "../lib/route";
import { findProcess, type Attention } from "../lib/store";

export function placeOf(item: Attention): string | null {
  if (item.kind === "message" || item.kind === "notice") return link("chat", item.owner, item.object);
  if (item.kind === "task") return link("tasks", item.owner, item.object);
  const found = findProcess(item.source) ? item.source : findProcess(item.owner) ? item.owner : null;
  return found === null ? null : link("t", found);
}

// SPDX-License-Identifier: MIT
// Timeline: everything that happens, in one order, from the feed; older items by a search in the daemon. A click leads to the chat line, task or terminal.
import { signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { clock } from "../lib/clock";
import { call, gaps, onItem, type FeedItem } from "../lib/link";
import { link, route } from "../lib/route";
import { findProcess, groups, shorten, shortName } from "../lib/store";
import { visible } from "../ui/agent-text";
import { Empty, ErrorNote, Field, View } from "../ui/parts";
import { w } from "../words";

const KEPT = 500;
const items = signal<FeedItem[]>([]);

onItem((item) => {
  items.value = [...items.value.slice(-KEPT + 1), item];
});

function text(item: FeedItem): string {
  const e = item.event ?? {};
  const data = (e.data ?? {}) as Record<string, unknown>;
  const words = [data.text, data.title, e.text, e.title, e.prompt, e.note, e.label].find((x) => typeof x === "string" && x !== "");
  return visible(typeof words === "string" ? words : item.part ?? "");
}

function who(item: FeedItem): string {
  const e = item.event ?? {};
  if (item.domain === "host") {
    const p = findProcess(item.owner);
    return p ? shortName(p) : String(e.object ?? item.owner);
  }
  if (item.domain === "tasks") return [item.owner.split("/").pop(), e.id ?? e.taskId].filter(Boolean).join("/");
  if (item.domain === "collab") return [groups.value.value?.get(item.owner) || item.owner, e.by].filter(Boolean).join("/");
  return shorten(item.owner);
}

function place(item: FeedItem): string {
  if (item.domain === "host") return link("t", item.owner);
  if (item.domain === "collab") return link("chat", item.owner, String(item.event?.id ?? ""));
  return item.domain === "tasks" ? link("tasks", item.owner, String(item.event?.id ?? item.event?.taskId ?? "")) : link("needs");
}

/* What the feed told and a search finds again is one thing: an event has an id, anything else its time and kind. */
function keyOf(i: FeedItem): string {
  const id = i.event?.id;
  return i.domain === "collab" && typeof id === "string" ? id : i.number !== undefined ? `#${i.number}` : `${i.at} ${i.owner} ${i.kind}`;
}

export function Timeline() {
  const query = route.value.query;
  const domain = useSignal(query.get("domain") ?? "");
  const word = useSignal(query.get("q") ?? "");
  const older = useSignal<FeedItem[]>([]);
  const next = useSignal<unknown>(undefined);
  const error = useSignal<unknown>(null);
  const isFirst = useSignal(true);
  const load = async () => {
    error.value = null;
    try {
      const params: Record<string, unknown> = { limit: 100, ...(word.value ? { query: word.value } : {}), ...(domain.value ? { domain: domain.value } : {}), ...(next.value ? { before: next.value } : {}) };
      const answer = await call<{ items: FeedItem[]; next?: unknown }>("event.search", params);
      older.value = next.value ? [...older.value, ...answer.items] : answer.items;
      next.value = answer.next;
    } catch (e) {
      error.value = e;
    }
    isFirst.value = false;
  };
  useEffect(() => {
    next.value = undefined;
    older.value = [];
    const timer = setTimeout(() => {
      const search = new URLSearchParams({ ...(domain.value ? { domain: domain.value } : {}), ...(word.value ? { q: word.value } : {}) });
      history.replaceState(null, "", `#/timeline${search.size ? `?${search}` : ""}`);
      void load();
    }, 250);
    return () => clearTimeout(timer);
  }, [domain.value, word.value]);
  const q = word.value.toLowerCase();
  const fits = (i: FeedItem) => (!domain.value || i.domain === domain.value) && (!q || `${i.kind} ${who(i)} ${text(i)}`.toLowerCase().includes(q));
  const known = new Set<string>();
  const rows = [...[...items.value].reverse().filter(fits), ...older.value].filter((i) => !known.has(keyOf(i)) && known.add(keyOf(i)));
  return (
    <View title={w.views.timeline} name="timeline" bar={
      <>
        <input type="search" data-filter class="filter" aria-label={w.timeline.filter} placeholder={w.timeline.filter} value={word.value} onInput={(e) => (word.value = e.currentTarget.value)} />
        <Field label={w.timeline.domain}><select value={domain.value} onChange={(e) => (domain.value = e.currentTarget.value)}><option value="">{w.timeline.all}</option>{["collab", "tasks", "host", "attention", "web"].map((d) => <option key={d} value={d}>{w.contracts[d] ?? d}</option>)}</select></Field>
      </>
    }>
      {gaps.value.map((g) => <p key={g.from} class="bar" role="status">{w.timeline.gap(g.from, g.to)}</p>)}
      <ErrorNote error={error.value} />
      {rows.length === 0 && !isFirst.value && <Empty title={w.timeline.empty} />}
      <ol class="timeline" role="list">
        {rows.map((i) => (
          <li key={keyOf(i)}><a data-row href={place(i)}><time dateTime={i.at}>{clock(i.at)}</time> <span class="tl-domain">{w.contracts[i.domain] ?? i.domain}</span> <span class="tl-kind">{i.kind}</span> <span class="tl-who">{who(i)}</span> <span class="tl-text">{text(i).slice(0, 300)}</span></a></li>
        ))}
      </ol>
      {next.value !== undefined && next.value !== null && <p><button onClick={() => void load()}>{w.timeline.older}</button></p>}
    </View>
  );
}

// SPDX-License-Identifier: MIT
// Timeline: everything that happens, in one order, from the feed; older items by a search in the daemon. A click leads to the chat line, task or terminal.
import { signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call, gaps, onItem, type FeedItem } from "../lib/link";
import { route } from "../lib/route";
import { isLive } from "../lib/store";
import { Empty, ErrorNote, Field, View } from "../ui/parts";
import { w } from "../words";
import { EventRows, keyOf, textOf, whoOf } from "./event-rows";
import { listRecordings, type Recording } from "./recording-list";

const KEPT = 500;
const items = signal<FeedItem[]>([]);

onItem((item) => {
  items.value = [...items.value.slice(-KEPT + 1), item];
});

export function Timeline() {
  const query = route.value.query;
  const domain = useSignal(query.get("domain") ?? "");
  const word = useSignal(query.get("q") ?? "");
  const older = useSignal<FeedItem[]>([]);
  const next = useSignal<unknown>(undefined);
  const error = useSignal<unknown>(null);
  const isFirst = useSignal(true);
  const recordings = useSignal<Recording[]>([]);
  useEffect(() => {
    if (isLive.value) listRecordings().then((r) => (recordings.value = r), () => {});
  }, [isLive.value]);
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
  const live = isLive.value;
  useEffect(() => {
    next.value = undefined;
    older.value = [];
    const timer = setTimeout(() => {
      if (!live) return;
      const search = new URLSearchParams({ ...(domain.value ? { domain: domain.value } : {}), ...(word.value ? { q: word.value } : {}) });
      if (route.peek().view === "timeline") history.replaceState(null, "", `#/timeline${search.size ? `?${search}` : ""}`);
      void load();
    }, 250);
    return () => clearTimeout(timer);
  }, [domain.value, word.value, live]);
  const q = word.value.toLowerCase();
  const fits = (i: FeedItem) => (!domain.value || i.domain === domain.value) && (!q || `${i.kind} ${whoOf(i)} ${textOf(i)}`.toLowerCase().includes(q));
  const known = new Set<string>();
  const rows = [...[...items.value].reverse().filter(fits), ...older.value].filter((i) => !known.has(keyOf(i)) && known.add(keyOf(i)));
  return (
    <View title={w.views.timeline} name="timeline" bar={
      <>
        <input type="search" data-filter class="filter" aria-label={w.timeline.filter} placeholder={w.timeline.filter} value={word.value} onInput={(e) => (word.value = e.currentTarget.value)} />
        <Field label={w.timeline.domain}><select value={domain.value} onChange={(e) => (domain.value = e.currentTarget.value)}><option value="">{w.timeline.all}</option>{Object.entries(w.domains).map(([d, name]) => <option key={d} value={d}>{name}</option>)}</select></Field>
      </>
    }>
      {gaps.value.map((g) => <p key={g.from} class="bar" role="status">{w.timeline.gap(g.from, g.to)}</p>)}
      <ErrorNote error={error.value} />
      {rows.length === 0 && !isFirst.value && <Empty title={w.timeline.empty} />}
      <EventRows rows={rows} recordings={recordings.value} />
      {next.value !== undefined && next.value !== null && <p><button onClick={() => void load()}>{w.timeline.older}</button></p>}
    </View>
  );
}

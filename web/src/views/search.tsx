// SPDX-License-Identifier: MIT
// Search: one word, looked for in everything: agents, what they printed, what was said and done, and, when asked, recordings. The word stands in the address.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { bytes, number } from "../lib/clock";
import { call, type FeedItem } from "../lib/link";
import { link, route } from "../lib/route";
import { findProcess, isLive, processes, shorten, shortName } from "../lib/store";
import { searchCast, type CastHit } from "../term/cast";
import { visible } from "../ui/agent-text";
import { Empty, ErrorNote, View } from "../ui/parts";
import { w } from "../words";
import { EventRows } from "./event-rows";
import { fetchCast, listRecordings, type Recording } from "./recording-list";

interface Printed {
  hits: { id: string; at: number; line: string }[];
  searched: number;
}

interface Found {
  word: string;
  printed: Printed | null;
  events: FeedItem[];
  recordings: Recording[];
  errors: unknown[];
}

const LIMIT = 100;
/* So much of recordings is fetched for a search, the newest first. */
const RECORDED_MAX = 8_000_000;

async function search(word: string): Promise<Found> {
  const found: Found = { word, printed: null, events: [], recordings: [], errors: [] };
  await Promise.all([
    call<Printed>("term.search", { query: word, limit: LIMIT }).then((r) => (found.printed = r), (e: unknown) => found.errors.push(e)),
    call<{ items: FeedItem[] }>("event.search", { query: word, limit: LIMIT }).then((r) => (found.events = r.items), (e: unknown) => found.errors.push(e)),
    listRecordings().then((r) => (found.recordings = r), (e: unknown) => found.errors.push(e)),
  ]);
  return found;
}

function Recorded({ found }: { found: Found }) {
  const hits = useSignal<{ recording: Recording; hit: CastHit }[] | null>(null);
  const busy = useSignal(false);
  const error = useSignal<unknown>(null);
  let size = 0;
  const within = [...found.recordings].sort((a, b) => b.started.localeCompare(a.started)).filter((r) => (size += r.bytes) <= RECORDED_MAX);
  const sum = within.reduce((n, r) => n + r.bytes, 0);
  const look = async () => {
    busy.value = true;
    error.value = null;
    try {
      const all: { recording: Recording; hit: CastHit }[] = [];
      for (const recording of within) for (const hit of searchCast(await fetchCast(recording.id), found.word, LIMIT - all.length)) all.push({ recording, hit });
      hits.value = all;
    } catch (e) {
      error.value = e;
    } finally {
      busy.value = false;
    }
  };
  if (found.recordings.length === 0) return null;
  return (
    <section aria-labelledby="se-recorded"><h2 id="se-recorded">{w.views.recordings}</h2>
      {!hits.value && <p><button disabled={busy.value} onClick={() => void look()}>{busy.value ? w.search.looking : w.search.look(within.length, bytes(sum))}</button></p>}
      {within.length < found.recordings.length && <p class="note">{w.search.left(found.recordings.length - within.length)}</p>}
      <ErrorNote error={error.value} />
      {hits.value && hits.value.length === 0 && <p class="note">{w.palette.none}</p>}
      <ol class="hit-list" role="list">{(hits.value ?? []).map(({ recording, hit }) => <li key={`${recording.id} ${hit.at} ${hit.line}`}><a data-row href={`${link("recordings", recording.id)}?at=${hit.at.toFixed(1)}`}><strong>{shorten(recording.object)}</strong> <code>{visible(hit.line)}</code></a></li>)}</ol>
    </section>
  );
}

function Results({ found }: { found: Found }) {
  const word = found.word.toLowerCase();
  const agents = (processes.value.value ?? []).filter((p) => [p.name, p.workspace, p.command, p.title].join(" ").toLowerCase().includes(word)).slice(0, LIMIT);
  const nameOf = (id: string) => {
    const p = findProcess(id);
    return p ? shortName(p) : id.slice(0, 8);
  };
  const printed = found.printed?.hits ?? [];
  return (
    <>
      {found.errors.map((e, i) => <ErrorNote key={i} error={e} />)}
      <p class="note" role="status">{w.search.summary(agents.length, printed.length, found.events.length, bytes(found.printed?.searched ?? 0))}</p>
      {agents.length > 0 && <section aria-labelledby="se-agents"><h2 id="se-agents">{w.views.fleet}</h2><ul class="hit-list" role="list">{agents.map((p) => <li key={p.id}><a data-row href={link("t", p.name ?? p.id)}><strong>{shortName(p)}</strong> <span class="note">{p.workspace}</span></a></li>)}</ul></section>}
      {printed.length > 0 && <section aria-labelledby="se-printed"><h2 id="se-printed">{w.search.printed}</h2>
        <ol class="hit-list" role="list">{printed.map((h) => <li key={`${h.id} ${h.at}`}><a data-row href={`${link("t", findProcess(h.id)?.name ?? h.id)}?${new URLSearchParams({ find: found.word })}`}><strong>{nameOf(h.id)}</strong> <code>{visible(h.line)}</code> <span class="note">{w.term.bytes(number(h.at))}</span></a></li>)}</ol></section>}
      {found.events.length > 0 && <section aria-labelledby="se-events"><h2 id="se-events">{w.search.events}</h2><EventRows rows={found.events} recordings={found.recordings} /></section>}
      <Recorded key={found.word} found={found} />
    </>
  );
}

export function Search() {
  const word = route.value.query.get("q") ?? "";
  const field = useSignal(word);
  const found = useSignal<Found | null>(null);
  const live = isLive.value;
  useEffect(() => {
    field.value = word;
    let isGone = false;
    if (word && live) void search(word).then((f) => isGone || (found.value = f));
    return () => {
      isGone = true;
    };
  }, [word, live]);
  const submit = (e: Event) => {
    e.preventDefault();
    const q = field.value.trim();
    location.hash = q ? `#/search?${new URLSearchParams({ q })}` : "#/search";
  };
  return (
    <View title={w.views.search} name="search" bar={
      <form role="search" class="search-form" onSubmit={submit}>
        <input type="search" data-filter class="filter" aria-label={w.search.what} placeholder={w.search.what} value={field.value} onInput={(e) => (field.value = e.currentTarget.value)} />
        <button class="primary">{w.search.go}</button>
      </form>
    }>
      {!word && <Empty title={w.search.none} how={w.search.noneHow} />}
      {word && found.value?.word !== word && <p class="loading" role="status">{w.loading}</p>}
      {word && found.value?.word === word && <Results found={found.value} />}
    </View>
  );
}

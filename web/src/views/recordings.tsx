// SPDX-License-Identifier: MIT
// Recordings: the list, and a player that draws into the same terminal as everything else, so that finding and copying work as they do there.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { age, bytes, clock } from "../lib/clock";
import { onItem, onReset } from "../lib/link";
import { link, route } from "../lib/route";
import { isDark, reducedMotion, settings } from "../lib/settings";
import { isLive, shorten } from "../lib/store";
import type { Screen } from "../term/xterm";
import { Act, Empty, ErrorNote, View } from "../ui/parts";
import { indexAt, searchCast, type Cast } from "../term/cast";
import { visible } from "../ui/agent-text";
import { w } from "../words";
import { fetchCast, fetchFile, listRecordings, type Recording } from "./recording-list";

function length(seconds: number): string {
  const s = Math.round(seconds);
  return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}`;
}

function title(r: Recording): string {
  return shorten(r.object);
}

/* A word of the recording, and where it was printed. */
function FindInside({ cast, onPick }: { cast: Cast; onPick: (seconds: number) => void }) {
  const word = useSignal("");
  const hits = word.value.trim().length > 1 ? searchCast(cast, word.value.trim(), 50) : [];
  return (
    <div class="find" role="search">
      <input type="search" aria-label={w.recordings.find} placeholder={w.recordings.find} value={word.value} onInput={(e) => (word.value = e.currentTarget.value)} />
      <span role="status">{word.value.trim().length > 1 && w.recordings.found(hits.length)}</span>
      {hits.length > 0 && <ol class="hits hit-list" role="list">{hits.map((h, i) => <li key={i}><button class="quiet" onClick={() => onPick(h.at)}>{length(h.at)} <code>{visible(h.line)}</code></button></li>)}</ol>}
    </div>
  );
}

function Player({ recording }: { recording: Recording }) {
  const place = useRef<HTMLDivElement>(null);
  const cast = useSignal<Cast | null>(null);
  const error = useSignal<unknown>(null);
  const at = useSignal(0);
  const isPlaying = useSignal(false);
  const speed = useSignal(1);
  const cutsIdle = useSignal(true);
  const screen = useRef<Screen | null>(null);
  const next = useRef(0);

  useEffect(() => {
    let isGone = false;
    Promise.all([fetchCast(recording.id), import("../term/xterm")]).then(([c, { Screen: Made }]) => {
      if (isGone || !place.current) return;
      const s = new Made(place.current, { fontSize: settings.peek().fontSize, isDark: isDark.peek(), screenReader: settings.peek().screenReader, readOnly: true, label: w.term.frame(title(recording)) },
        { onInput: () => {}, onKey: () => false, onLink: () => {}, onClipboard: () => {} });
      s.zoom(c.cols, c.rows, settings.peek().fontSize);
      screen.current = s;
      cast.value = c;
      const moment = Number(route.peek().query.get("at") ?? "");
      if (moment > 0) seekReal(moment);
      else seek(0);
      isPlaying.value = !(moment > 0) && !reducedMotion;
    }, (e: unknown) => (error.value = e));
    return () => {
      isGone = true;
      screen.current?.dispose();
      screen.current = null;
    };
  }, [recording.id]);

  const times = () => (cutsIdle.value ? cast.value?.cutTimes : cast.value?.times) ?? [];
  const total = () => times()[times().length - 1] ?? 0;

  function drawUntil(seconds: number): void {
    const c = cast.peek();
    const all = times();
    if (!c) return;
    while (next.current < c.events.length && (all[next.current] ?? 0) <= seconds) {
      const e = c.events[next.current++];
      if (e?.kind === "o") screen.current?.draw(new TextEncoder().encode(e.data), true, () => {});
      else if (e?.kind === "r") {
        const [cols, rows] = e.data.split("x").map(Number);
        if (cols && rows) screen.current?.zoom(cols, rows, settings.peek().fontSize);
      }
    }
  }

  function seek(seconds: number): void {
    if (seconds < at.peek() || next.current === 0) {
      screen.current?.clear();
      next.current = 0;
    }
    at.value = seconds;
    drawUntil(seconds);
  }

  /* A moment of the recording as it was, with its pauses. */
  function seekReal(seconds: number): void {
    const c = cast.peek();
    if (c) seek(times()[indexAt(c, seconds)] ?? 0);
  }

  useEffect(() => {
    if (!isPlaying.value) return;
    let last = performance.now();
    let frame = 0;
    const step = (t: number) => {
      if (!isPlaying.peek()) return; /* a place was picked since this frame was asked for */
      at.value = Math.min(total(), at.peek() + ((t - last) / 1000) * speed.peek());
      last = t;
      drawUntil(at.peek());
      if (at.peek() >= total()) isPlaying.value = false;
      else frame = requestAnimationFrame(step);
    };
    frame = requestAnimationFrame(step);
    return () => cancelAnimationFrame(frame);
  }, [isPlaying.value, cutsIdle.value]);

  const toggle = () => {
    if (at.value >= total()) seek(0);
    isPlaying.value = !isPlaying.value;
  };
  return (
    <section class="player" aria-label={title(recording)}>
      <ErrorNote error={error.value} />
      <div class="term-place" ref={place} />
      <p class="player-bar">
        <button class="primary" onClick={toggle}>{isPlaying.value ? w.recordings.pause : w.recordings.play}</button>
        <input type="range" aria-label={w.recordings.position} min={0} max={total() || 1} step={0.1} value={at.value} onInput={(e) => seek(Number(e.currentTarget.value))} />
        <span>{length(at.value)} / {length(total())}</span>
        <label class="field"><span>{w.recordings.speed}</span><select value={String(speed.value)} onChange={(e) => (speed.value = Number(e.currentTarget.value))}>{[0.5, 1, 2, 4, 8, 16].map((n) => <option key={n} value={n}>{n}×</option>)}</select></label>
        <label class="check"><input type="checkbox" checked={cutsIdle.value} onChange={(e) => (cutsIdle.value = e.currentTarget.checked)} /> {w.recordings.idle}</label>
      </p>
      {cast.value && <FindInside cast={cast.value} onPick={(seconds) => ((isPlaying.value = false), seekReal(seconds))} />}
      <p class="note"><a href={`#/timeline?${new URLSearchParams({ q: title(recording).split("/").pop() ?? "" })}`}>{w.recordings.timeline}</a></p>
      {cast.value && cast.value.markers.length > 0 && (
        <nav aria-label={w.recordings.markers}><ul class="markers" role="list">{cast.value.markers.map((m) => <li key={m.index}><button class="quiet" onClick={() => seek(times()[m.index] ?? 0)}>{length(times()[m.index] ?? 0)} {visible(m.label)}</button></li>)}</ul></nav>
      )}
    </section>
  );
}

async function download(r: Recording): Promise<void> {
  const address = URL.createObjectURL(new Blob([(await fetchFile(r.id)) as BlobPart], { type: "application/x-asciicast" }));
  const a = document.createElement("a");
  a.href = address;
  a.download = `${title(r).replace(/[^\w.-]+/g, "-")}.cast`;
  a.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

export function Recordings() {
  const all = useSignal<Recording[] | null>(null);
  const error = useSignal<unknown>(null);
  const load = () => listRecordings().then((r) => ((all.value = r), (error.value = null)), (e: unknown) => (error.value = e));
  useEffect(() => {
    if (isLive.peek()) void load();
    const stops = [onReset(() => void load()), onItem((i) => i.domain === "host" && void load())];
    return () => stops.forEach((stop) => stop());
  }, []);
  const chosen = all.value?.find((r) => r.id === route.value.parts[0]);
  const columns = w.recordings.columns;
  return (
    <View title={w.views.recordings} name="recordings">
      <ErrorNote error={error.value} />
      {all.value?.length === 0 && <Empty title={w.recordings.none} how={w.recordings.noneHow} command={w.recordings.noneCommand} />}
      {chosen && <Player key={chosen.id} recording={chosen} />}
      {all.value && all.value.length > 0 && (
        <table class="recordings"><thead><tr><th scope="col">{columns.object}</th><th scope="col">{columns.started}</th><th scope="col">{columns.length}</th><th scope="col">{columns.size}</th><th scope="col"><span class="offscreen">{w.acts.more}</span></th></tr></thead>
          <tbody>{all.value.map((r) => (
            <tr key={r.id} class="row"><td><a data-row href={link("recordings", r.id)}>{title(r)}</a> {r.is_live && <span class="rec">● {w.recordings.live}</span>}</td><td title={clock(r.started)}>{w.ago(age(r.started))}</td><td>{length(r.seconds)}</td><td>{bytes(r.bytes)}</td>
              <td class="c-acts"><Act label={w.recordings.download} method="recording.read" params={{ id: r.id }} object={title(r)} needsControl={false} run={() => download(r)} />
                {r.is_live ? <Act label={w.recordings.stop} method="recording.stop" params={{ id: r.id }} object={title(r)} onDone={() => void load()} /> : <Act label={w.recordings.remove} method="recording.rm" params={{ id: r.id }} object={title(r)} danger onDone={() => void load()} />}</td></tr>
          ))}</tbody></table>
      )}
    </View>
  );
}

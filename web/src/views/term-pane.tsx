// SPDX-License-Identifier: MIT
// The terminal itself with its foot: find bar, questions before something leaves the page, key bar and compose bar on phones.
import { effect, useSignal, type Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { bytes, number } from "../lib/clock";
import { copy } from "../lib/copy";
import { call } from "../lib/link";
import { cameFrom, route } from "../lib/route";
import { isDark, isTouch, set, settings } from "../lib/settings";
import { canControl, findProcess, processes, shortName, type Process } from "../lib/store";
import { TermLink, type TermState } from "../lib/term-link";
import { isRiskyPaste, modified } from "../term/keys";
import type { Screen } from "../term/xterm";
import { visible } from "../ui/agent-text";
import { Dialog, ErrorNote } from "../ui/parts";
import { seen } from "../ui/state";
import { w } from "../words";
import { ComposeBar, KeyBar, type Held } from "./key-bar";

/* Something that the person has to say yes to. */
type Question = { kind: "paste" | "link" | "clipboard"; text: string } | null;

interface Seat {
  screen: Screen;
  term: TermLink;
}

function wantsKeyBar(): boolean {
  const { keyBar } = settings.value;
  return keyBar === "on" || (keyBar === "auto" && isTouch);
}

function QuestionBox({ question, p, seat }: { question: Signal<Question>; p: Process; seat: Seat | null }) {
  const q = question.value;
  if (!q) return null;
  const close = () => (question.value = null);
  const answer = (act: () => void) => () => {
    act();
    close();
    seat?.screen.focus();
  };
  const titles = { paste: w.term.pasteTitle, link: w.term.linkTitle, clipboard: w.term.clipboardTitle(shortName(p)) };
  const remember = (allow: boolean) => set("clipboardFor", { ...settings.value.clipboardFor, [p.name ?? p.id]: allow });
  return (
    <Dialog title={titles[q.kind]} onClose={close} name="question">
      <h2>{titles[q.kind]}</h2>
      {q.kind === "paste" && <p>{w.term.pasteLines(q.text.split("\n").length)}{/[\x00-\x08\x0b-\x1f\x7f]/.test(q.text.replace(/[\r\n\t]/g, "")) ? `, ${w.term.pasteControl}` : ""}</p>}
      <pre class="question-text" tabIndex={0}>{q.text.slice(0, 4000).replace(/[\x00-\x08\x0b-\x1f\x7f]/g, (c) => (c === "\r" ? "" : `␛${c.charCodeAt(0).toString(16)}`))}</pre>
      <p class="buttons">
        {q.kind === "paste" && <button class="primary" autofocus onClick={answer(() => seat?.term.type(seat.screen.pasted(q.text)))}>{w.term.pasteGo}</button>}
        {q.kind === "link" && <button class="primary" autofocus onClick={answer(() => window.open(q.text, "_blank", "noopener,noreferrer"))}>{w.term.linkGo}</button>}
        {q.kind === "clipboard" && (
          <>
            <button class="primary" autofocus onClick={answer(() => void copy(q.text))}>{w.term.clipboardOnce}</button>
            <button onClick={answer(() => (remember(true), void copy(q.text)))}>{w.term.clipboardAlways}</button>
            <button onClick={answer(() => remember(false))}>{w.term.clipboardNever}</button>
          </>
        )}
        <button onClick={answer(() => {})}>{w.cancel}</button>
      </p>
    </Dialog>
  );
}

interface Hits {
  hits: { at: number; line: string }[];
  searched: number;
}

function FindBar({ seat, p, first, onClose }: { seat: Seat; p: Process; first: string; onClose: () => void }) {
  const word = useSignal(first);
  const all = useSignal<Hits | null>(null);
  const error = useSignal<unknown>(null);
  const findAll = () => call<Hits>("term.search", { query: word.value, ids: [p.id], limit: 100 }).then((r) => ((all.value = r), (error.value = null)), (e: unknown) => (error.value = e));
  const found = useSignal<[number, number]>([0, 0]);
  useEffect(() => {
    seat.screen.onFound = (at, n) => (found.value = [at, n]);
    return () => seat.screen.endFind();
  }, []);
  /* A word that came with the address is found as soon as the terminal has drawn what it had. */
  useEffect(() => {
    if (first) void findAll();
  }, []);
  const find = (isBack: boolean) => word.value && seat.screen.find(word.value, isBack);
  return (
    <div class="find" role="search">
      <input autofocus type="search" aria-label={w.term.find} placeholder={w.term.find} value={word.value} onInput={(e) => ((word.value = e.currentTarget.value), find(false))}
        onKeyDown={(e) => (e.key === "Enter" ? find(!e.shiftKey) : e.key === "Escape" && onClose())} ref={(e) => e?.focus()} />
      <span role="status">{word.value && w.term.findCount(...found.value)}</span>
      <button onClick={() => find(true)}>{w.term.findBefore}</button>
      <button onClick={() => find(false)}>{w.term.findNext}</button>
      <button onClick={() => word.value && void findAll()}>{w.term.findAll}</button>
      <button onClick={onClose}>{w.close}</button>
      <ErrorNote error={error.value} />
      {all.value && (
        <div class="hits">
          <p role="status">{w.term.searchHits(all.value.hits.length, bytes(all.value.searched))}</p>
          <ol role="list" tabIndex={0}>{all.value.hits.map((h) => <li key={h.at}><span class="note">{number(h.at)}</span> <code>{visible(h.line)}</code></li>)}</ol>
        </div>
      )}
    </div>
  );
}

function linkWord(s: TermState): string {
  if (s.ended) return s.exitCode === null ? w.term.ended : w.term.endedCode(s.exitCode);
  if (s.restarting) return w.term.restarting;
  return s.link === "live" ? w.term.live : w.term.lost;
}

function Foot({ p, seat, state, filter, onFind }: { p: Process; seat: Seat; state: TermState; filter: Signal<boolean>; onFind: () => void }) {
  const position = seat.term.position.value;
  return (
    <footer class="term-foot">
      <span role="status" class={`term-link link-${state.link === "live" ? "live" : "lost"}`}>{linkWord(state)}</span>
      <span class="not-phone">{position === null ? "" : w.term.bytes(number(position))} · {state.missed ? w.term.missed(bytes(state.missed)) : w.term.nothingMissed}</span>
      {!canControl.value && <span>{w.term.readOnly}</span>}
      {canControl.value && !state.canType && p.kind === "pty" && state.link === "live" && <span>{p.writer ? w.term.takenBy(p.writer) : w.term.readOnly}</span>}
      {state.viewers > 1 && <span>{w.term.watchers(state.viewers - 1)}</span>}
      <span class="spring" />
      {state.cols > 0 && <span>{w.term.size(state.cols, state.rows)}, {state.isOwner ? w.term.yours : w.term.theirs}</span>}
      {!state.isOwner && state.link === "live" && <button aria-disabled={!canControl.value} title={canControl.value ? undefined : w.scopeTooSmall} onClick={() => canControl.value && seat.term.take()}>{w.term.take}</button>}
      <button onClick={onFind}>{w.term.find}</button>
      <button onClick={() => void copy(seat.screen.selection || seat.screen.text())}>{w.term.copy}</button>
      {canControl.value && <button class="not-phone" aria-pressed={!filter.value} title={filter.value ? w.term.filterOn : w.term.filterOff} onClick={() => (filter.value = !filter.value)}>{filter.value ? w.term.filterLift : w.term.filterHold}</button>}
    </footer>
  );
}

/* Keys that the page keeps: everything else belongs to the program. */
function pageKey(e: KeyboardEvent, acts: { find(): void; copy(): void; paste(): void; leave(): void; reader(): void }): boolean {
  const take = (act: () => void) => {
    e.preventDefault();
    act();
    return true;
  };
  if (e.ctrlKey && !e.altKey && !e.shiftKey && (e.key === "]" || e.code === "BracketRight")) return take(acts.leave);
  if (e.altKey && e.shiftKey && e.code === "KeyR") return take(acts.reader);
  if (e.altKey && !e.ctrlKey && /^Digit[1-9]$/.test(e.code)) return true;
  if (!e.ctrlKey || !e.shiftKey) return false;
  if (e.code === "KeyF") return take(acts.find);
  if (e.code === "KeyC") return take(acts.copy);
  /* Without the clipboard's API (plain HTTP) the browser's own paste still works: it is left to it. */
  if (e.code === "KeyV" && typeof navigator.clipboard?.readText === "function") return take(acts.paste);
  return false;
}

/* It prints: where the list says that it has been quiet for long, that is asked anew. */
function heard(p: Process): void {
  const known = findProcess(p.name ?? p.id);
  if (known && seen(known, Date.now()).tone === "quiet") processes.want(500);
}

export function TermPane({ p }: { p: Process }) {
  const place = useRef<HTMLDivElement>(null);
  const seat = useSignal<Seat | null>(null);
  const question = useSignal<Question>(null);
  const wanted = route.peek().query.get("find") ?? "";
  const finding = useSignal(wanted !== "");
  const filter = useSignal(true);
  const failed = useSignal<unknown>(null);
  const held = useSignal<Held>({ ctrl: "off", alt: "off" });

  useEffect(() => {
    let isGone = false;
    let undo = () => {};
    import("../term/xterm").then(({ Screen: Made }) => {
      if (isGone || !place.current) return;
      undo = sitDown(Made, place.current);
    }, (e: unknown) => (failed.value = e));
    return () => {
      isGone = true;
      undo();
      seat.value = null;
    };
  }, [filter.value]);

  const paste = (text: string) => {
    const s = seat.peek();
    if (!s || !text) return;
    if (isRiskyPaste(text)) question.value = { kind: "paste", text };
    else s.term.type(s.screen.pasted(text));
  };

  function sitDown(Made: typeof Screen, element: HTMLElement): () => void {
    const screen = new Made(element, { fontSize: settings.peek().fontSize, isDark: isDark.peek(), screenReader: settings.peek().screenReader, label: w.term.frame(shortName(p)) }, {
      onInput: (data) => {
        const mods = { ctrl: held.peek().ctrl !== "off", alt: held.peek().alt !== "off" };
        term.type(mods.ctrl || mods.alt ? modified(data, mods) : data);
        if (held.peek().ctrl === "once" || held.peek().alt === "once") held.value = { ctrl: held.peek().ctrl === "once" ? "off" : held.peek().ctrl, alt: held.peek().alt === "once" ? "off" : held.peek().alt };
      },
      onKey: (e) => pageKey(e, {
        find: () => (finding.value = true),
        copy: () => void copy(screen.selection),
        paste: () => void navigator.clipboard?.readText().then(paste, () => {}),
        leave: () => {
          (document.activeElement as HTMLElement | null)?.blur();
          location.hash = cameFrom.peek();
        },
        reader: () => set("screenReader", !settings.peek().screenReader),
      }),
      onLink: (text) => (question.value = { kind: "link", text }),
      onClipboard: (text) => {
        const known = settings.peek().clipboardFor[p.name ?? p.id];
        if (known) void copy(text);
        else if (known === undefined) question.value = { kind: "clipboard", text };
      },
      onSelect: (text) => settings.peek().copyOnSelect && text && void copy(text),
    });
    const term: TermLink = new TermLink({ id: p.name ?? p.id, mode: canControl.peek() && p.kind === "pty" ? "type" : "watch", filter: filter.peek(), size: () => screen.proposed() }, {
      draw: (data, isOld, done) => {
        if (!isOld) heard(p);
        screen.draw(data, isOld, done);
      },
      jump: (missed) => {
        screen.note(w.term.missedLine(bytes(missed)));
      },
      resized: () => fit(),
    });
    function fit(): void {
      const s = term.state.peek();
      screen.mayAnswer = s.isOwner;
      if (s.link !== "live" || s.isOwner || !s.cols) {
        screen.fontSize = settings.peek().fontSize;
        const size = screen.proposed();
        if (s.isOwner && (size.cols !== s.cols || size.rows !== s.rows)) term.resize(size.cols, size.rows);
        screen.resize(s.isOwner || !s.cols ? size.cols : s.cols, s.isOwner || !s.rows ? size.rows : s.rows);
      } else screen.zoom(s.cols, s.rows, settings.peek().fontSize);
    }
    screen.onFit = fit;
    const stops = [
      effect(() => {
        void term.state.value.isOwner;
        void term.state.value.link;
        void settings.value.fontSize;
        fit();
      }),
      effect(() => void (screen.isDark = isDark.value)),
      effect(() => void (screen.screenReader = settings.value.screenReader)),
    ];
    const onPaste = (e: ClipboardEvent) => {
      e.preventDefault();
      e.stopPropagation();
      paste(e.clipboardData?.getData("text/plain") ?? "");
    };
    element.addEventListener("paste", onPaste, true);
    if (!isTouch) {
      screen.focus();
      if (settings.peek().webgl) setTimeout(() => void screen.drawFast(), 300);
    }
    seat.value = { screen, term };
    return () => {
      stops.forEach((stop) => stop());
      element.removeEventListener("paste", onPaste, true);
      term.close();
      screen.dispose();
    };
  }

  const s = seat.value;
  const state = s?.term.state.value;
  return (
    <div class="term">
      <ErrorNote error={failed.value} />
      {s && finding.value && <FindBar seat={s} p={p} first={wanted} onClose={() => ((finding.value = false), s.screen.focus())} />}
      <div class="term-place" ref={place} data-term={p.id} data-live={state?.link} />
      {s && state && <Foot p={p} seat={s} state={state} filter={filter} onFind={() => (finding.value = !finding.value)} />}
      {s && state && wantsKeyBar() && canControl.value && state.canType && (
        <>
          <KeyBar held={held} isAppCursor={() => s.screen.isAppCursor} onBytes={(b) => s.term.type(b)} />
          <ComposeBar onText={(text) => s.term.type(text ? s.screen.pasted(text) : "") } onEnter={(taken) => s.term.key("Enter", taken)} />
        </>
      )}
      <QuestionBox question={question} p={p} seat={s} />
    </div>
  );
}

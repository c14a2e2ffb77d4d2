// SPDX-License-Identifier: MIT
// What is around every view: the bar with the state of the link, the navigation, the lines that say what is wrong, and the place where a view is shown.
import { computed } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { age, clock, now } from "../lib/clock";
import { isNarrow, lastNews, latencyMs, linkState, restartedAt, retry } from "../lib/link";
import { route } from "../lib/route";
import { isDark, set } from "../lib/settings";
import { identity, info, isOver, needsCount, processes } from "../lib/store";
import { tunnel } from "../lib/tunnel";
import { w } from "../words";
import { isNewer } from "./newer";
import { openHelp, openMenu, openPalette, VIEWS } from "./overlay";

const PHONE: readonly string[] = ["needs", "fleet", "chat"];
export type ViewName = (typeof VIEWS)[number];

const counts = computed<Partial<Record<ViewName, number>>>(() => ({
  needs: needsCount.value,
  fleet: processes.value.value?.length ?? 0,
}));

/* A terminal belongs to the fleet. */
const current = computed(() => (route.value.view === "t" || route.value.view === "new" ? "fleet" : route.value.view));

function NavItem({ name }: { name: ViewName }) {
  const n = counts.value[name] ?? 0;
  return (
    <li class={PHONE.includes(name) ? "" : "not-phone"}>
      <a href={`#/${name}`} aria-current={current.value === name ? "page" : undefined}>
        <span>{w.views[name]}</span>
        {n > 0 && <span class={`count ${name === "needs" ? "count-ask" : ""}`}>{n}</span>}
      </a>
    </li>
  );
}

function Nav() {
  return (
    <nav class="nav" aria-label={w.views.label}>
      <ul>{VIEWS.map((name) => <NavItem key={name} name={name} />)}
        <li class="phone-only"><button class="nav-more" onClick={openMenu}>{w.menu}</button></li>
      </ul>
    </nav>
  );
}

export function LinkMark() {
  const state = linkState.value;
  const text = state === "live" ? w.link.live(latencyMs.value) : state === "lost" ? w.link.lost : w.link.connecting;
  return <span class={`link link-${state}`}><span aria-hidden="true">{state === "live" ? "●" : "◌"}</span> {text}</span>;
}

const opened = Date.now();
/* A link that is there at once needs no word. */
const PATIENCE_MS = 3000;

/* What begins to wait is said to who does not see the count. */
function Announcement() {
  const before = useRef(0);
  const n = needsCount.value;
  const text = n > before.current ? w.notify.title(n) : "";
  useEffect(() => void (before.current = n), [n]);
  return <p class="offscreen" role="alert">{text}</p>;
}

function Bars() {
  const state = linkState.value;
  const isBack = state === "live" && restartedAt.value > 0 && now.value - restartedAt.value < 60_000;
  const adopted = (processes.value.value ?? []).filter((p) => p.adopted && !isOver(p)).length;
  const isPlain = !isSecureContext;
  return (
    <div class="bars" role="status">
      {state === "lost" && <p class="bar bar-warn">{w.link.lostBar(clock(lastNews.value), age(lastNews.value, now.value))} <button class="quiet" onClick={retry}>{w.link.retry}</button></p>}
      {state === "connecting" && now.value - opened > PATIENCE_MS && <p class="bar bar-warn">{processes.at.value ? w.link.keptBar(clock(processes.at.value), age(processes.at.value, now.value)) : w.link.firstBar(age(opened, now.value))} <button class="quiet" onClick={retry}>{w.link.retry}</button></p>}
      {isNewer.value && <p class="bar bar-newer">{w.link.newer} <button onClick={() => location.reload()}>{w.link.reload}</button></p>}
      {isBack && <p class="bar">{w.link.restarted(clock(restartedAt.value), adopted)}</p>}
      {isPlain && <p class="bar bar-plain">{tunnel ? w.link.plainTunnel : w.link.plain}</p>}
    </div>
  );
}

export function Shell({ children }: { children: ComponentChildren }) {
  const host = (identity.value.value?.host as string | undefined) ?? info.value.value?.host ?? location.hostname;
  return (
    <div class={`shell shell-${route.value.view} ${isNarrow.value ? "narrow" : ""}`}>
      <a class="skip" href="#main" onClick={(e) => (e.preventDefault(), document.getElementById("main")?.focus())}>{w.skip}</a>
      <header class="top">
        <a class="brand" href="#/fleet"><strong>{w.product}</strong> <span class="host">{host}</span></a>
        <LinkMark />
        {needsCount.value > 0 && <a class="top-needs phone-only" href="#/needs" aria-label={`${w.views.needs}: ${needsCount.value}`}>{needsCount.value}!</a>}
        <span class="top-tools">
          {!isNarrow.value && <button class="quiet not-phone" onClick={openPalette} aria-label={`${w.palette.label} Ctrl+K`}><kbd>Ctrl+K</kbd></button>}
          <button class="quiet" onClick={() => set("theme", isDark.value ? "light" : "dark")} aria-label={w.settings.theme}><span aria-hidden="true">{isDark.value ? "☀" : "☾"}</span></button>
          <button class="quiet not-phone" onClick={openHelp} aria-label={`${w.help.title} ?`}><kbd>?</kbd></button>
        </span>
      </header>
      {!isNarrow.value && <Nav />}
      <main id="main" tabIndex={-1}>
        <Bars />
        <Announcement />
        {children}
      </main>
    </div>
  );
}

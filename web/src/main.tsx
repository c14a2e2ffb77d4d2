// SPDX-License-Identifier: MIT
// The console: takes the token out of the address, opens the link, and shows the view that the address names.
import { effect } from "@preact/signals";
import { render, type ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { enter, refusal } from "./lib/auth";
import { isNarrow, start } from "./lib/link";
import { arrive, go, route } from "./lib/route";
import { needsCount, processes, startStore } from "./lib/store";
import { LinkQuestion } from "./ui/agent-text";
import { startKeys } from "./ui/keys";
import { startKept } from "./ui/kept";
import { lazy } from "./ui/lazy";
import { startCompare } from "./ui/newer";
import { startNotices } from "./ui/notices";
import { Overlay } from "./ui/overlay";
import { Shell } from "./ui/shell";
import { Fleet } from "./views/fleet";
import { Needs } from "./views/needs";
import { Refused } from "./views/refused";
import { startWorker } from "./lib/worker";
import { w } from "./words";

const views: Record<string, ComponentType> = {
  fleet: Fleet,
  needs: Needs,
  t: lazy(async () => (await import("./views/terminal")).TerminalView),
  new: lazy(async () => (await import("./views/create")).Create),
  grid: lazy(async () => (await import("./views/grid")).Grid),
  chat: lazy(async () => (await import("./views/chat")).Chat),
  tasks: lazy(async () => (await import("./views/tasks")).Tasks),
  search: lazy(async () => (await import("./views/search")).Search),
  timeline: lazy(async () => (await import("./views/timeline")).Timeline),
  recordings: lazy(async () => (await import("./views/recordings")).Recordings),
  usage: lazy(async () => (await import("./views/usage")).Usage),
  company: lazy(async () => (await import("./views/company")).Company),
  settings: lazy(async () => (await import("./views/settings")).SettingsView),
};

/* The heading gets the focus when another view is shown, so that a screen reader says where one is. */
function useHeading(view: string): void {
  useEffect(() => {
    if (document.activeElement === document.body || document.activeElement?.closest(".nav")) document.getElementById("view-title")?.focus({ preventScroll: true });
  }, [view]);
}

function App() {
  const { view } = route.value;
  useHeading(view);
  const only = isNarrow.value ? processes.value.value?.[0] : undefined;
  useEffect(() => {
    if (only && route.peek().view !== "t") go("t", only.name ?? only.id);
  }, [only, view]);
  const Shown = (isNarrow.value ? views.t : views[view]) ?? Fleet;
  if (refusal.value) return <Refused why={refusal.value} />;
  return (
    <>
      <Shell><Shown key={view} /></Shell>
      <Overlay />
      <LinkQuestion />
    </>
  );
}

effect(() => {
  const n = needsCount.value;
  document.title = `${n ? `(${n}) ` : ""}${w.views[route.value.view as keyof typeof w.views] ?? w.product} · ${w.product}`;
  const badge = navigator as Navigator & { setAppBadge?: (n: number) => Promise<void>; clearAppBadge?: () => Promise<void> };
  void (n ? badge.setAppBadge?.(n) : badge.clearAppBadge?.())?.catch(() => {});
});

/* The keyboard of a phone covers the page without making it smaller, where the browser does not say otherwise: what is left is the height of everything. */
const viewport = window.visualViewport;
viewport?.addEventListener("resize", () => {
  const isCovered = viewport.scale === 1 && viewport.height < innerHeight - 40;
  document.documentElement.style.setProperty("--height", isCovered ? `${viewport.height}px` : "100dvh");
  if (isCovered) scrollTo(0, 0);
});

await enter();
arrive();
startKeys();
startKept();
startStore();
startWorker();
startNotices();
startCompare();
start();
render(<App />, document.getElementById("app") as HTMLElement);

// SPDX-License-Identifier: MIT
// The console: takes the token out of the address, opens the link, and shows the view that the address names.
import { effect } from "@preact/signals";
import { render, type ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { enter, refusal } from "./lib/auth";
import { start } from "./lib/link";
import { route } from "./lib/route";
import { needsCount, startStore } from "./lib/store";
import { LinkQuestion } from "./ui/agent-text";
import { startKeys } from "./ui/keys";
import { lazy } from "./ui/lazy";
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
  if (refusal.value) return <Refused why={refusal.value} />;
  const Shown = views[view] ?? Fleet;
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

await enter();
startKeys();
startStore();
startWorker();
start();
render(<App />, document.getElementById("app") as HTMLElement);

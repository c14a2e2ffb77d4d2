// SPDX-License-Identifier: MIT
// A view that is loaded when it is first looked at. One that cannot be loaded says so and offers to try again.
import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { w } from "../words";
import { compare, isNewer } from "./newer";
import { ErrorNote } from "./parts";

export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let Loaded: ComponentType<P> | null = null;
  return function Lazy(props: P) {
    const error = useSignal<unknown>(null);
    const version = useSignal(0);
    const fetchIt = () => {
      error.value = null;
      load().then((c) => {
        Loaded = c;
        version.value++;
      }, (e: unknown) => ((error.value = e), void compare()));
    };
    useEffect(() => {
      if (!Loaded) fetchIt();
    }, []);
    if (version.value >= 0 && Loaded) return <Loaded {...props} />;
    if (error.value && isNewer.value) return <div class="empty"><p>{w.link.newerPart}</p><button class="primary" onClick={() => location.reload()}>{w.link.reload}</button></div>;
    if (error.value) return <div class="empty"><ErrorNote error={error.value} /><button onClick={fetchIt}>{w.link.retry}</button></div>;
    return <p class="loading" role="status">{w.loading}</p>;
  };
}

// SPDX-License-Identifier: MIT
// When to try again: 0.25 s, doubling to 10 s, with jitter, so that twenty pages do not come back in the same millisecond.
import { tunnel } from "./tunnel";

export class Backoff {
  private n = 0;
  private timer: number | undefined;
  /* When the next attempt is due, or 0. */
  due = 0;

  constructor(private readonly attempt: () => void) {}

  wait(): void {
    const ms = Math.min(10_000, 250 * 2 ** this.n) * (0.7 + 0.6 * Math.random());
    this.n++;
    this.due = Date.now() + ms;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.now(), ms) as unknown as number;
  }

  now(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.due = 0;
    this.attempt();
  }

  get isWaiting(): boolean {
    return this.timer !== undefined;
  }

  reset(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.n = 0;
    this.due = 0;
  }
}

/* What makes a page try at once: it is seen again, thawed, has a network, or its tunnel is back. */
export function onWake(wake: () => void): void {
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) wake();
  });
  addEventListener("pageshow", wake);
  addEventListener("online", wake);
  document.addEventListener("resume", wake);
  tunnel?.onstate(() => tunnel?.state === "live" && wake());
}

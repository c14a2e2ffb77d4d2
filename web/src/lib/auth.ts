// SPDX-License-Identifier: MIT
// Who this page is: a server token of the link that opened it (kept for this tab, under the name that coop's own page uses), or a device token that a one-time
// code was exchanged for (kept on this device). Neither stays in the address. In a tunnel the loader has proved who we are, and there is no token.
import { signal } from "@preact/signals";
import { tunnel } from "./tunnel";

const SERVER_KEY = "coop_token";
const DEVICE_KEY = "muster_device";

/* Why there is no usable token, or null: shown instead of everything else. */
export type Refusal = "none" | "invalid" | "code" | "tunnel";
export const refusal = signal<Refusal | null>(null);

export function token(): string {
  return sessionStorage.getItem(SERVER_KEY) ?? localStorage.getItem(DEVICE_KEY) ?? "";
}

export function hasDeviceToken(): boolean {
  return !sessionStorage.getItem(SERVER_KEY) && localStorage.getItem(DEVICE_KEY) !== null;
}

export function forget(): void {
  sessionStorage.removeItem(SERVER_KEY);
  localStorage.removeItem(DEVICE_KEY);
}

function deviceName(): string {
  const agent = navigator.userAgent;
  const system = /Android|iPhone|iPad|Windows|Mac OS|Linux/.exec(agent)?.[0] ?? "";
  const browser = /Firefox|Edg|Chrome|Safari/.exec(agent)?.[0] ?? "";
  return [browser, system].filter(Boolean).join(", ") || "browser";
}

async function login(code: string): Promise<void> {
  const answer = await fetch("/api/login", {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ code, label: deviceName() }),
  });
  if (!answer.ok) {
    refusal.value = "code";
    return;
  }
  const body = (await answer.json()) as { token: string };
  sessionStorage.removeItem(SERVER_KEY);
  localStorage.setItem(DEVICE_KEY, body.token);
}

/* Takes token or code out of the address; afterwards the address can be shown to anybody. */
export async function enter(): Promise<void> {
  if (tunnel) {
    tunnel.onstate(() => tunnel?.state === "over" && (refusal.value = "tunnel"));
    return;
  }
  const query = new URLSearchParams(location.search);
  const given = query.get("token");
  const fragment = location.hash.startsWith("#/") ? null : new URLSearchParams(location.hash.slice(1));
  const code = fragment?.get("code") ?? null;
  const session = query.get("session") ?? fragment?.get("to") ?? null;
  if (given) sessionStorage.setItem(SERVER_KEY, given);
  if (given !== null || code !== null) {
    const rest = session ? `#/t/${encodeURIComponent(session)}` : location.hash.startsWith("#/") ? location.hash : "";
    history.replaceState(null, "", location.pathname + rest);
  }
  if (code) await login(code);
  if (!token() && !refusal.value) refusal.value = "none";
}

/* A WebSocket cannot tell 403 from a machine that is away; a request can. */
export async function isTokenRefused(): Promise<boolean> {
  if (tunnel) return false;
  try {
    const answer = await fetch("/api/sessions", { headers: { Authorization: `Bearer ${token()}` }, cache: "no-store" });
    return answer.status === 403 || answer.status === 401;
  } catch {
    return false;
  }
}

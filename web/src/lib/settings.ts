// SPDX-License-Identifier: MIT
// What this device has chosen. Kept in local storage, never sent.
import { effect, signal } from "@preact/signals";

export interface Settings {
  theme: "system" | "light" | "dark";
  fontSize: number;
  letterKeys: boolean;
  copyOnSelect: boolean;
  screenReader: boolean;
  webgl: boolean;
  keyBar: "auto" | "on" | "off";
  notify: boolean;
  /* Kinds of which none are wanted are false. */
  notifyKinds: Record<string, boolean>;
  /* Quiet hours, "HH:MM"; none when one of them is empty. */
  quietFrom: string;
  quietTo: string;
  gridShow: "running" | "asks" | "all";
  clipboardFor: Record<string, boolean>;
}

const KEY = "muster_settings";
const defaults: Settings = {
  theme: "system", fontSize: 14, letterKeys: true, copyOnSelect: false, screenReader: false, webgl: true, keyBar: "auto", notify: false, notifyKinds: {}, quietFrom: "", quietTo: "", gridShow: "running", clipboardFor: {},
};

function read(): Settings {
  try {
    return { ...defaults, ...(JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Settings>) };
  } catch {
    return { ...defaults };
  }
}

export const settings = signal<Settings>(read());

export function set<K extends keyof Settings>(key: K, value: Settings[K]): void {
  settings.value = { ...settings.value, [key]: value };
  localStorage.setItem(KEY, JSON.stringify(settings.value));
}

const systemDark = matchMedia("(prefers-color-scheme: dark)");
export const isDark = signal(systemDark.matches);

effect(() => {
  const { theme } = settings.value;
  isDark.value = theme === "dark" || (theme === "system" && systemDark.matches);
  document.documentElement.dataset.theme = isDark.value ? "dark" : "light";
});
systemDark.addEventListener("change", () => {
  if (settings.peek().theme === "system") settings.value = { ...settings.peek() };
});

export const isTouch = matchMedia("(pointer: coarse)").matches;
export const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)").matches;

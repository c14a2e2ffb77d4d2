// SPDX-License-Identifier: MIT
// Which rows of a long list are drawn: those that are seen and some around them. The others are two empty rows as high as they would be. Short lists are drawn whole.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

const WHOLE = 100;
const AROUND = 40;

export interface Window {
  from: number;
  to: number;
  /* Pixels above and below what is drawn. */
  before: number;
  after: number;
}

/* What a view that is come back to was like. */
export interface WindowMemory {
  range: [number, number];
  height: number;
}

export function windowMemory(): WindowMemory {
  return { range: [0, WHOLE], height: 0 };
}

/* `body` holds rows with data-row; `main` is what scrolls. */
export function useWindow(total: number, body: { current: HTMLElement | null }, memory: WindowMemory): Window {
  const range = useSignal<[number, number]>(memory.range);
  const isLong = total > WHOLE;
  useEffect(() => {
    const main = document.getElementById("main");
    if (!isLong || !main) return;
    const look = () => {
      const rows = body.current?.querySelectorAll<HTMLElement>("[data-row]");
      const first = rows?.[0];
      const last = rows?.[rows.length - 1];
      if (!body.current?.isConnected || !first || !last || !rows) return;
      if (!memory.height) memory.height = (last.getBoundingClientRect().bottom - first.getBoundingClientRect().top) / rows.length;
      const above = main.getBoundingClientRect().top - body.current.getBoundingClientRect().top;
      const from = Math.max(0, Math.floor(above / memory.height) - AROUND);
      const to = Math.min(total, Math.ceil((above + main.clientHeight) / memory.height) + AROUND);
      const [a, b] = range.peek();
      if (a !== from || b !== to) range.value = memory.range = [Math.min(from, Math.max(0, total - AROUND)), Math.max(to, 1)];
    };
    const other = () => {
      memory.height = 0;
      look();
    };
    main.addEventListener("scroll", look, { passive: true });
    addEventListener("resize", other);
    look();
    return () => {
      main.removeEventListener("scroll", look);
      removeEventListener("resize", other);
    };
  }, [isLong, total]);
  if (!isLong) return { from: 0, to: total, before: 0, after: 0 };
  const from = Math.min(range.value[0], total);
  const to = Math.min(range.value[1], total);
  return { from, to, before: from * memory.height, after: (total - to) * memory.height };
}

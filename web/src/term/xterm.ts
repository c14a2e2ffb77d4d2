// SPDX-License-Identifier: MIT
// xterm.js as this console uses it: bytes in, keys out, and no answer to a program's questions unless this page is the one that may answer. Loaded late.
import { ClipboardAddon, type IClipboardProvider } from "@xterm/addon-clipboard";
import { FitAddon } from "@xterm/addon-fit";
import { SearchAddon } from "@xterm/addon-search";
import { Unicode11Addon } from "@xterm/addon-unicode11";
import { WebLinksAddon } from "@xterm/addon-web-links";
import { Terminal, type ITheme } from "@xterm/xterm";

export interface ScreenHooks {
  /* Bytes of the person at the keyboard, or answers of the terminal. */
  onInput(data: string): void;
  /* Keys that the page keeps for itself: true when it took one. */
  onKey(e: KeyboardEvent): boolean;
  onLink(address: string): void;
  onClipboard(text: string): void;
  onTitle?(title: string): void;
  onSelect?(text: string): void;
}

export interface ScreenOptions {
  fontSize: number;
  isDark: boolean;
  screenReader: boolean;
  scrollback?: number;
  readOnly?: boolean;
  label: string;
}

const FONT = 'ui-monospace, "DejaVu Sans Mono", "Liberation Mono", Menlo, Consolas, "Noto Sans Mono", monospace';
const dark: ITheme = {
  background: "#101215", foreground: "#dcdfe4", cursor: "#e8b04a", cursorAccent: "#101215", selectionBackground: "#3a4a63",
  black: "#282c34", red: "#e8707a", green: "#98c379", yellow: "#e5c07b", blue: "#6db3f2", magenta: "#cf8be0", cyan: "#5fc3cf", white: "#dcdfe4",
  brightBlack: "#7c8594", brightRed: "#f08a93", brightGreen: "#b0d891", brightYellow: "#f0d399", brightBlue: "#8fc6f7", brightMagenta: "#dda5ea", brightCyan: "#82d5df", brightWhite: "#ffffff",
};
const light: ITheme = {
  background: "#fdfcfa", foreground: "#26282c", cursor: "#8a5a00", cursorAccent: "#fdfcfa", selectionBackground: "#c5d8ef",
  black: "#26282c", red: "#b3202c", green: "#2e6f1c", yellow: "#7a5600", blue: "#155a9c", magenta: "#8a2da0", cyan: "#0f6a73", white: "#5b6068",
  brightBlack: "#5b6068", brightRed: "#c93340", brightGreen: "#3a7f27", brightYellow: "#8a6400", brightBlue: "#1c6ab5", brightMagenta: "#9a3eb0", brightCyan: "#177983", brightWhite: "#3a3d42",
};

export class Screen {
  readonly term: Terminal;
  private readonly fit = new FitAddon();
  private readonly search = new SearchAddon();
  private gl: { dispose(): void } | null = null;
  private glMade = false;
  /* Whether this page answers a program's questions. */
  mayAnswer = false;
  /* Old output is being drawn: nobody answers. */
  private isReplay = false;
  private readonly watch: ResizeObserver;
  onFit: () => void = () => {};
  onFound: (at: number, n: number) => void = () => {};

  constructor(readonly place: HTMLElement, options: ScreenOptions, private readonly hooks: ScreenHooks) {
    this.term = new Terminal({
      allowProposedApi: true, fontFamily: FONT, fontSize: options.fontSize, lineHeight: 1.15, scrollback: options.scrollback ?? 5000, theme: options.isDark ? dark : light, screenReaderMode: options.screenReader,
      cursorBlink: false, disableStdin: options.readOnly ?? false, minimumContrastRatio: 4.5, macOptionIsMeta: true, rightClickSelectsWord: true, linkHandler: { activate: (_e, text) => this.link(text) },
    });
    this.term.loadAddon(this.fit);
    this.term.loadAddon(this.search);
    this.term.loadAddon(new Unicode11Addon());
    this.term.unicode.activeVersion = "11";
    this.term.loadAddon(new WebLinksAddon((_e, address) => this.link(address)));
    const clipboard: IClipboardProvider = { readText: () => "", writeText: (_selection, text) => hooks.onClipboard(text) };
    this.term.loadAddon(new ClipboardAddon(undefined, clipboard));
    this.guard();
    this.term.open(place);
    this.term.textarea?.setAttribute("aria-label", options.label);
    this.term.onData((data) => hooks.onInput(data));
    this.term.onBinary((data) => hooks.onInput(data));
    this.term.onTitleChange((title) => hooks.onTitle?.(title));
    this.term.onSelectionChange(() => hooks.onSelect?.(this.term.getSelection()));
    this.term.attachCustomKeyEventHandler((e) => !(e.type === "keydown" && hooks.onKey(e)));
    this.search.onDidChangeResults((e) => this.onFound(e.resultIndex + 1, e.resultCount));
    this.watch = new ResizeObserver(() => this.onFit());
    this.watch.observe(place);
  }

  private link(address: string): void {
    if (/^https?:\/\//i.test(address)) this.hooks.onLink(address);
  }

  /* Questions of programs (what are you, where is the cursor, which colours) are swallowed unless this page may answer them; else the answers of every page
     that looks would be typed into the agent. */
  private guard(): void {
    const swallow = () => !this.mayAnswer || this.isReplay;
    const parser = this.term.parser;
    for (const id of [{ final: "c" }, { prefix: ">", final: "c" }, { prefix: "=", final: "c" }, { final: "n" }, { prefix: "?", final: "n" }, { intermediates: "$", final: "p" }, { prefix: "?", intermediates: "$", final: "p" }, { prefix: ">", final: "q" }, { final: "x" }, { prefix: "?", final: "u" }]) parser.registerCsiHandler(id, swallow);
    parser.registerCsiHandler({ final: "t" }, (params) => [11, 13, 14, 15, 16, 18, 19, 20, 21].includes(Number(params[0])) && swallow());
    for (const id of [{ intermediates: "$", final: "q" }, { intermediates: "+", final: "q" }]) parser.registerDcsHandler(id, swallow);
    for (const n of [4, 10, 11, 12]) parser.registerOscHandler(n, (data) => data.includes("?") && swallow());
  }

  draw(bytes: Uint8Array, isOld: boolean, done: () => void): void {
    if (isOld !== this.isReplay) this.term.write("", () => (this.isReplay = isOld));
    this.term.write(bytes, done);
  }

  /* A line of ours between the program's. */
  note(text: string): void {
    this.term.write(`\x1b[0m\r\n\x1b[7m ${text.replace(/[\x00-\x1f\x7f]/g, "")} \x1b[0m\r\n`);
  }

  /* The grid that fits the place at this font size. */
  proposed(): { cols: number; rows: number } {
    const size = this.fit.proposeDimensions();
    return { cols: Math.max(2, Math.min(1000, size?.cols || 80)), rows: Math.max(1, Math.min(500, size?.rows || 24)) };
  }

  resize(cols: number, rows: number): void {
    if (cols !== this.term.cols || rows !== this.term.rows) this.term.resize(cols, rows);
  }

  /* Somebody else's grid, in letters so small that it fits the place. */
  zoom(cols: number, rows: number, fontSize: number): void {
    this.resize(cols, rows);
    for (let size = fontSize; size >= 4; size--) {
      this.term.options.fontSize = size;
      const here = this.fit.proposeDimensions();
      if (!here || (here.cols >= cols && here.rows >= rows) || size === 4) break;
    }
  }

  set fontSize(n: number) {
    if (this.term.options.fontSize !== n) this.term.options.fontSize = n;
  }

  set isDark(value: boolean) {
    this.term.options.theme = value ? dark : light;
  }

  set screenReader(value: boolean) {
    this.term.options.screenReaderMode = value;
  }

  /* After the first paint, on the desktop: 16 such contexts per page at most, so only for the terminal that is looked at. */
  async drawFast(): Promise<void> {
    if (this.glMade) return;
    this.glMade = true;
    try {
      const { WebglAddon } = await import("@xterm/addon-webgl");
      const addon = new WebglAddon();
      addon.onContextLoss(() => this.drawPlain());
      this.term.loadAddon(addon);
      this.gl = addon;
    } catch {
      this.gl = null;
    }
  }

  drawPlain(): void {
    this.gl?.dispose();
    this.gl = null;
    this.glMade = false;
  }

  find(word: string, isBack: boolean): void {
    const options = { decorations: { matchBackground: "#8a6d1f", activeMatchBackground: "#c7941f", matchOverviewRuler: "#c7941f", activeMatchColorOverviewRuler: "#c7941f" } };
    if (isBack) this.search.findPrevious(word, options);
    else this.search.findNext(word, options);
  }

  endFind(): void {
    this.search.clearDecorations();
  }

  get selection(): string {
    return this.term.getSelection();
  }

  get isAppCursor(): boolean {
    return this.term.modes.applicationCursorKeysMode;
  }

  /* What a paste is as keys: bracketed where the program asked for that. */
  pasted(text: string): string {
    const lines = text.replace(/\r?\n/g, "\r");
    return this.term.modes.bracketedPasteMode ? `\x1b[200~${lines.replace(/\x1b\[20[01]~/g, "")}\x1b[201~` : lines;
  }

  text(): string {
    const buffer = this.term.buffer.active;
    const lines: string[] = [];
    for (let i = 0; i < buffer.length; i++) lines.push(buffer.getLine(i)?.translateToString(true) ?? "");
    return lines.join("\n").replace(/\n+$/, "\n");
  }

  focus(): void {
    this.term.focus();
  }

  clear(): void {
    this.term.reset();
  }

  dispose(): void {
    this.watch.disconnect();
    this.drawPlain();
    this.term.dispose();
  }
}

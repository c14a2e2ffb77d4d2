// SPDX-License-Identifier: MIT
// Every word of the loader, one place.
export const w = {
  connecting: "Connecting to your machine …",
  slow: "Nothing has answered yet. Still trying.",
  loading: "Connected. Loading the console from your machine …",
  resuming: "Reconnecting to your machine …",
  ask: {
    title: "Connect to your machine",
    text: "Run this on your machine, and scan the code that it shows, or type its six characters here:",
    command: "muster tunnel",
    label: "Short code",
    go: "Connect",
    wrong: "This short code is not right, or it was used already, or its five minutes are over. muster tunnel shows a new one.",
    many: "Too many tries. Wait a minute.",
    nobody: "This page comes from a server that knows no short codes. Scan the QR code instead, or open /connect of muster serve.",
    away: "The server of this page does not answer.",
  },
  prompt: {
    title: "Your browser may ask",
    text: "This page talks to your machine directly, without a server in between. Your browser may ask whether it may look for devices on your local network: allow it. Nothing else is looked for.",
    go: "Continue",
  },
  again: "Try again",
  fault: {
    broken: ["This is not a whole code", "Part of it is missing. Scan it again, or copy the whole line that muster tunnel shows."],
    version: ["This page cannot read this code", "Code and page are of different versions. On your machine, muster tunnel --page-hash says which page fits."],
    browser: ["This browser cannot do that", "It has no WebRTC, or it is switched off. Another browser will do."],
    path: [
      "Your machine does not answer",
      "The code may have expired, or be in use already: it is good for five minutes, once, and only as long as muster tunnel runs. Make a new one.",
      "There may be no way from here to there: be in the same network, or put both into one with Tailscale or WireGuard, and make a new code then.",
      "The browser may not be allowed to look at the local network: see its settings for this page.",
    ],
    spent: ["This code was used already", "A code opens one tunnel, once. If that was not you, end the tunnel on your machine. muster tunnel makes a new code."],
    over: ["This tunnel is over", "It was ended on your machine, or it was away for more than ten minutes. muster tunnel makes a new code."],
    console: ["The console did not arrive as it should", "What came is not what your machine had announced, so it was not run. Try again; if it stays so, compare muster tunnel --page-hash with this page."],
    fallback: ["Your machine has no console", "Its daemon was built without it: make console there builds it in."],
  } as Record<string, string[]>,
};

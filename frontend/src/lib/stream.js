// One WebSocket of a page that changes by itself: kept open, gone on with after a break, polled for where there is none.
//
//   follow({
//     path: "/live/jobs/42",
//     hello: () => ({ offset }),     what is said first, at each connection: where the page is by now
//     message: (news) => { … },      each message, { type, … }; not the ones that are the stream's own
//     poll: async () => { … },       asks by HTTP; called now and then while there is no connection
//   })                               → a function that ends it

import { pause } from "./live.js";

const SILENCE_MS = 50_000; // the server says something every 20 s
const FIRST_MS = 500;
const LONGEST_MS = 30_000;
const POLL_MS = 5000;
const FULL_MS = 60_000; // before another try where the server has no room for one more page

const offline = document.getElementById("offline");

export function follow({ path, hello, message, poll }) {
  const address = new URL(new URL(path, location.href).pathname, location.href);
  address.protocol = address.protocol.replace("http", "ws");
  let isOver = false;
  let socket = null;

  // Whether it came about, and how long to wait before the next one; nothing: none is wanted.
  const connection = () => new Promise((done) => {
    const made = new WebSocket(address);
    socket = made;
    let silence = 0;
    let after = { isOpen: false, wait: FIRST_MS };
    const heard = () => {
      clearTimeout(silence);
      silence = setTimeout(() => made.close(), SILENCE_MS);
    };
    heard();
    made.addEventListener("open", () => {
      after.isOpen = true;
      made.send(JSON.stringify({ language: document.documentElement.lang.slice(0, 2), ...hello() }));
    });
    made.addEventListener("message", ({ data }) => {
      heard();
      const news = JSON.parse(data);
      if (news.type !== "alive") offline.hidden = news.type !== "away";
      if (news.type === "end" && news.code === "Busy") after = { isOpen: false, wait: FULL_MS };
      else if (news.type === "end") isOver = true;
      if (!["alive", "away", "back"].includes(news.type)) message(news);
    });
    made.addEventListener("close", () => {
      clearTimeout(silence);
      done(after);
    });
  });

  const online = () => new Promise((done) => { addEventListener("online", done, { once: true }); });

  async function run() {
    let wait = FIRST_MS;
    let failed = 0;
    while (!isOver) {
      const { isOpen, wait: wanted } = await connection();
      if (isOver) return;
      failed = isOpen ? 0 : failed + 1;
      wait = isOpen ? FIRST_MS : Math.max(wanted, Math.min(wait * 2, LONGEST_MS));
      const until = performance.now() + wait * (0.75 + Math.random() / 2);
      if (!failed) offline.hidden = false;
      while (!isOver && performance.now() < until) {
        if (failed) await poll();
        await Promise.race([pause(Math.min(POLL_MS, Math.max(0, until - performance.now()))), online()]);
      }
    }
  }

  run();
  return () => {
    isOver = true;
    socket?.close();
  };
}

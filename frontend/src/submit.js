// The submit page works as it came from the server; the editor comes when the browser has time for it.

const later = window.requestIdleCallback ?? ((work) => setTimeout(work, 1));
later(() => import("./submit/page.js"), { timeout: 1000 });

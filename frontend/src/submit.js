// The submit page works as it came from the server; the editor comes when the browser has time for it.

const later = window.requestIdleCallback ?? ((work) => setTimeout(work, 1));
// What was refused is read first.
if (document.querySelector("#problems li")) document.getElementById("problems").focus();
later(() => import("./submit/page.js"), { timeout: 1000 });

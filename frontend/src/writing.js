// The page where a component is written before it is published: the same editor, problems as one types.

const later = window.requestIdleCallback ?? ((work) => setTimeout(work, 1));
later(() => import("./publish/writing.js"), { timeout: 1000 });

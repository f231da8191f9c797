var e=window.requestIdleCallback??(t=>setTimeout(t,1));e(()=>import("./part-KIL6YBE7.js"),{timeout:1e3});

var e=window.requestIdleCallback??(t=>setTimeout(t,1));e(()=>import("./part-SIGTOCQB.js"),{timeout:1e3});

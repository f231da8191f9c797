var e=window.requestIdleCallback??(t=>setTimeout(t,1));e(()=>import("./part-HKOQ76LA.js"),{timeout:1e3});

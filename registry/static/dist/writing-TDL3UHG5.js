var e=window.requestIdleCallback??(t=>setTimeout(t,1));e(()=>import("./part-NPW6MK72.js"),{timeout:1e3});

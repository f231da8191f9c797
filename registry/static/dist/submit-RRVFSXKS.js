var e=window.requestIdleCallback??(t=>setTimeout(t,1));e(()=>import("./part-DAPNLPH5.js"),{timeout:1e3});

var e=window.requestIdleCallback??(t=>setTimeout(t,1));e(()=>import("./part-DT6DWO6W.js"),{timeout:1e3});

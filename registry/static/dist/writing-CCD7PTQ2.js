var e=window.requestIdleCallback??(t=>setTimeout(t,1));e(()=>import("./part-D4M42UJB.js"),{timeout:1e3});

var e=window.requestIdleCallback??(t=>setTimeout(t,1));e(()=>import("./part-HCF3QPFL.js"),{timeout:1e3});

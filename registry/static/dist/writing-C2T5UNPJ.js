var e=window.requestIdleCallback??(t=>setTimeout(t,1));e(()=>import("./part-ABLLRM4A.js"),{timeout:1e3});

var e=window.requestIdleCallback??(t=>setTimeout(t,1));e(()=>import("./part-YVT3IGEE.js"),{timeout:1e3});

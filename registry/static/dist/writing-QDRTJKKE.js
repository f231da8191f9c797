import{f as t}from"./part-X2CCFICM.js";t();var o=window.requestIdleCallback??(e=>setTimeout(e,1));o(()=>import("./part-2BU4CL46.js"),{timeout:1e3});

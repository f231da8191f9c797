import{f as t}from"./part-7IVZEYQR.js";t();var o=window.requestIdleCallback??(e=>setTimeout(e,1));o(()=>import("./part-NJHOOXX4.js"),{timeout:1e3});

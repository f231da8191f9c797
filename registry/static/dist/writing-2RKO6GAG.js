import{f as t}from"./part-JFXTGLTI.js";t();var o=window.requestIdleCallback??(e=>setTimeout(e,1));o(()=>import("./part-MWZLW52F.js"),{timeout:1e3});

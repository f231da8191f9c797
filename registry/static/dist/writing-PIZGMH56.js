import{f as t}from"./part-HG3DXLKV.js";t();var o=window.requestIdleCallback??(e=>setTimeout(e,1));o(()=>import("./part-ICNRR2OE.js"),{timeout:1e3});

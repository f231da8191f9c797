import{h as t}from"./part-63SEZOCR.js";t();var o=window.requestIdleCallback??(e=>setTimeout(e,1));o(()=>import("./part-WVARC7GT.js"),{timeout:1e3});

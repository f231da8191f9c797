import{f as t}from"./part-WWQT24LS.js";t();var o=window.requestIdleCallback??(e=>setTimeout(e,1));o(()=>import("./part-BFF253LZ.js"),{timeout:1e3});

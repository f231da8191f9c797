import{h as t}from"./part-SEDFQFF5.js";t();var o=window.requestIdleCallback??(e=>setTimeout(e,1));o(()=>import("./part-LBM326HW.js"),{timeout:1e3});

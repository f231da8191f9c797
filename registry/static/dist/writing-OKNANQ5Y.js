import{f as t}from"./part-X2CCFICM.js";t();var o=window.requestIdleCallback??(e=>setTimeout(e,1));o(()=>import("./part-VCWW2XRS.js"),{timeout:1e3});

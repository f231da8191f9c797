import{h as t}from"./part-OKKOWFLV.js";t();var o=window.requestIdleCallback??(e=>setTimeout(e,1));o(()=>import("./part-NSE2P5KC.js"),{timeout:1e3});

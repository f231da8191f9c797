import{f as t}from"./part-247MQNRB.js";t();var o=window.requestIdleCallback??(e=>setTimeout(e,1));o(()=>import("./part-GPBVBDC4.js"),{timeout:1e3});

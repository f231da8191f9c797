import{f as t}from"./part-RCUII2Q4.js";t();var o=window.requestIdleCallback??(e=>setTimeout(e,1));o(()=>import("./part-KAFMQEGW.js"),{timeout:1e3});

import{f as t}from"./part-2IMJ2Q4P.js";t();var o=window.requestIdleCallback??(e=>setTimeout(e,1));o(()=>import("./part-2FQDBTCW.js"),{timeout:1e3});

var t=window.requestIdleCallback??(e=>setTimeout(e,1));document.querySelector("#problems li")&&document.getElementById("problems").focus();t(()=>import("./part-LSU7IVJ7.js"),{timeout:1e3});

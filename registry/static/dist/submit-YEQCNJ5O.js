var t=window.requestIdleCallback??(e=>setTimeout(e,1));document.querySelector("#problems li")&&document.getElementById("problems").focus();t(()=>import("./part-5DAIWQ72.js"),{timeout:1e3});

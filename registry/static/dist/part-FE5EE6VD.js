var n=document.getElementById("texts"),s=n?JSON.parse(n.textContent):{},c=(t,e)=>t.replace(/%\((\w+)\)[sd]/g,(r,o)=>e[o]),l=(t,e={})=>c(s[t]||t,e);export{l as a};

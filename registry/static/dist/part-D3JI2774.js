import{a}from"./part-HRPTAJAM.js";import"./part-HG3DXLKV.js";export{a as default};

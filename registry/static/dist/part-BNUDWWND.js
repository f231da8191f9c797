import{a}from"./part-WDQCBWZG.js";import"./part-7IVZEYQR.js";export{a as default};

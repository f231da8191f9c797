import{a}from"./part-DJN2NMTF.js";import"./part-SEDFQFF5.js";export{a as default};

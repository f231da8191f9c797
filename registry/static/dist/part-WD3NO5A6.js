import{a}from"./part-4VBFQJKK.js";import"./part-RCUII2Q4.js";export{a as default};

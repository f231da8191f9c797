import{a}from"./part-IZIRKJXF.js";import"./part-2IMJ2Q4P.js";export{a as default};

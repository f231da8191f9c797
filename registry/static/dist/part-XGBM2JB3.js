import{a}from"./part-JZBJNXYM.js";import"./part-X2CCFICM.js";export{a as default};

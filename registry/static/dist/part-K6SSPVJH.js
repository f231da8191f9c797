import{a}from"./part-NOGWVCTR.js";import"./part-JFXTGLTI.js";export{a as default};

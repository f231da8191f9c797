import{a}from"./part-HOSSKTR2.js";import"./part-OKKOWFLV.js";export{a as default};

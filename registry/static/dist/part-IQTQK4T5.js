import{a}from"./part-KGFI3DTZ.js";import"./part-63SEZOCR.js";export{a as default};

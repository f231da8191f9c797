import{a}from"./part-AMIBNNNI.js";import"./part-WWQT24LS.js";export{a as default};

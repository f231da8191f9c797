import{a}from"./part-DAIB52NB.js";import"./part-247MQNRB.js";export{a as default};

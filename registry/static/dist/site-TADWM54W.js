import{h as a}from"./part-SEDFQFF5.js";a();

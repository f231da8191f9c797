import{f as a}from"./part-X2CCFICM.js";a();

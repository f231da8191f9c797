import{f as a}from"./part-WWQT24LS.js";a();

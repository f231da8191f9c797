import{f as a}from"./part-RCUII2Q4.js";a();

import{f as a}from"./part-2IMJ2Q4P.js";a();

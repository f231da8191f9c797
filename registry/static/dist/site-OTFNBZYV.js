import{f as a}from"./part-JFXTGLTI.js";a();

import{f as a}from"./part-7IVZEYQR.js";a();

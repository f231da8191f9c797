import{h as a}from"./part-63SEZOCR.js";a();

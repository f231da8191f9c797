import{h as a}from"./part-OKKOWFLV.js";a();

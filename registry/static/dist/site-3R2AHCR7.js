import{f as a}from"./part-HG3DXLKV.js";a();

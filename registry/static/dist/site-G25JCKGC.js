import{f as a}from"./part-247MQNRB.js";a();

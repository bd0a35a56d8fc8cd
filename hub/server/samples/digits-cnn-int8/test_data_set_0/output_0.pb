
BprobabilitiesJ(ґz0&*.·mу5ѓоІ7lj/оxР.sЫm&zю?эЋУ3‡ап0
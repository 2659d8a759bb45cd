/* Filters `samples` rows of `channels` numbers in place, forwards and then backwards.

   sos: sections of (b0, b1, b2, 1, a1, a2).  settled: for each section the state (z1, z2) it has come to rest in on an
   input of 1; each direction starts as if its first sample had been there for ever.  state: room for 2 sections channels
   numbers. */
void cascade_both_ways(long sections, const double *sos, const double *settled, double *x, long samples, long channels,
                       double *state);

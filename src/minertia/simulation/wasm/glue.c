/* Inverse dynamics with one place for its inputs (q, qd, qdd) and one for its efforts, for callers without pointers. */
#include HEADER

static double given[3 * JOINTS];
static double made[JOINTS];

double *minertia_given(void) { return given; }

double *minertia_made(void) { return made; }

void minertia_run(void) { INVERSE_DYNAMICS(given, given + JOINTS, given + 2 * JOINTS, made); }

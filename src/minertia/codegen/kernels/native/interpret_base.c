/* The interpreter for any processor of its kind. */
#if defined(__FAST_MATH__) /* better no interpreter than one whose angles are reduced wrongly */
#error "the reduction of angles in vector.h needs plain arithmetic: no -ffast-math"
#endif
#define NAME base
#include "interpret.h"

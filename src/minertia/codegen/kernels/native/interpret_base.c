/* The interpreter for any processor of its kind. */
#define NAME base
#include "interpret.h"

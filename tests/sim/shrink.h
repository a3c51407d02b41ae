/* shrink.h: makes a failing run shorter. */
#ifndef SIM_SHRINK_H
#define SIM_SHRINK_H

#include "world.h"

/* Prints the command line of a shorter run that breaks the same promise. 0, or 1: it passes. */
int shrink(struct world *w, uint64_t seed, const struct options *from);

#endif

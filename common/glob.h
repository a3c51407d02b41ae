/* glob.h: patterns for the names of classes. Pure; any thread. */
#ifndef COMMON_GLOB_H
#define COMMON_GLOB_H

#include "slice.h"

/* Whether text is as pattern has it; "*" there stands for any bytes, or none. */
bool glob_match(struct slice pattern, struct slice text);

/*
 * Whether name, or what is behind a separator in it, is as pattern has it. So "Busy" is
 * "com.acme.Busy", "Meter::Busy" and "com.acme.Meter$Busy", but not "NotBusy".
 * The empty name matches nothing.
 */
bool glob_match_name(struct slice pattern, struct slice name);

#endif

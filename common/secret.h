/* secret.h: what must not be shown of a configuration. Pure; any thread. */
#ifndef COMMON_SECRET_H
#define COMMON_SECRET_H

#include "mem.h"

#define SECRET_MASK "********"

/* Whether the value of a key of that name is a secret: passwords, private keys, tokens. */
bool secret_name(const char *name);

/* text with the password of every "scheme://user:password@" masked; text itself where it has none,
 * else in the arena. */
const char *secret_mask_urls(struct arena *a, const char *text);

#endif

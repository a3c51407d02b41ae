/* fake_read.h: the reading half of the fake log, for fake_log.c's table. */
#ifndef SIM_FAKE_READ_H
#define SIM_FAKE_READ_H

#include "world.h"

int fake_assign(struct log *log, const struct log_position *v, size_t n, struct err *err);
int fake_fetch(struct log *log, struct arena *arena, struct log_message *v, size_t max,
	int timeout_ms, size_t *ret_n, struct err *err);
void fake_release(struct log *log, struct log_message *v, size_t n);
int fake_read_start(struct log *log, const struct log_range *v, size_t n, struct err *err);
int fake_read_next(struct log *log, struct arena *arena, struct log_message *v, size_t max,
	int timeout_ms, size_t *ret_n, bool *ret_done, struct err *err);

#endif

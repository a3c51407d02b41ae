/* events.h: the things that a run can see, by number. */
#ifndef SIM_EVENTS_H
#define SIM_EVENTS_H

#define FAULT(id, name, rate) SIM_##id,
#define SIGHT(id, kind, name) SIM_##id,
enum event {
#include "events.def"
	SIM_EVENT_COUNT
};
#undef FAULT
#undef SIGHT

struct event_info {
	const char *id, *kind, *name;
	unsigned rate; /* faults: chances in 100,000; 0 for what only follows */
};
extern const struct event_info event_table[SIM_EVENT_COUNT];

#endif

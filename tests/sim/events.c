#include "events.h"

#define FAULT(id, name, rate) {#id, "fault", name, rate},
#define SIGHT(id, kind, name) {#id, kind, name, 0},
const struct event_info event_table[SIM_EVENT_COUNT] = {
#include "events.def"
};

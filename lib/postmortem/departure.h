#ifndef NCCLPROF_POSTMORTEM_DEPARTURE_H
#define NCCLPROF_POSTMORTEM_DEPARTURE_H

#include "postmortem/pending.h"

/* Whether a rank departs from its programme and waits there, or others where it should have been. */
int departs_and_waits(const struct absence *absence, int32_t rank);

/*
 * Where everybody waits: who departs from its own programme, when the others keep to theirs. Replaces what is
 * of low confidence from number `from` on, where it finds somebody. -1 when memory is out.
 */
int find_departures(const struct absence *absence, size_t from, struct findings *findings);

/* The same where nothing else explains why all wait: who departed in a call that ended, and waits since. At
 * most of medium confidence. */
int find_earlier_departures(const struct absence *absence, struct findings *findings);

#endif

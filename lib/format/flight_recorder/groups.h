#ifndef NCCLPROF_FORMAT_FLIGHT_RECORDER_GROUPS_H
#define NCCLPROF_FORMAT_FLIGHT_RECORDER_GROUPS_H

#include "format/flight_recorder/dump.h"

/* Groups that a dump may name: more than any job has on a rank. */
enum { GROUPS_MOST = 4096 };

/* The group of that number, name and description, made where it is new; -1 when memory is out, -2 when there
 * are too many. */
int32_t dump_group_of(struct dump *dump, int64_t pg_id, const struct value *name,
                      const struct value *description);

/*
 * Who is in the groups, by pg_config, and how far they came, by pg_status. Both may be NULL. The entries must
 * be there already: they tell which number of pg_status is which name of pg_config. *unread counts what is of
 * another type than it ought to be. -1 when memory is out.
 */
int dump_take_config(struct dump *dump, const struct value *config, size_t *unread);
int dump_take_status(struct dump *dump, const struct value *status, size_t *unread);

#endif

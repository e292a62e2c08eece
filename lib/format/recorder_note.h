#ifndef NCCLPROF_FORMAT_RECORDER_NOTE_H
#define NCCLPROF_FORMAT_RECORDER_NOTE_H

#include "format/format.h"
#include "input/json.h"

/*
 * What the bundled plugin says of its own recording, in Chrome traces and Inspector logs alike: objects of
 * the same members.
 */

enum { RECORDER_DROP_KINDS = 7 };

/* What it could not keep, in totals since its start, and what each kind means. */
void recorder_drops_read(struct json *json, const struct value *object, int64_t totals[RECORDER_DROP_KINDS]);
extern const char *const recorder_drop_meanings[RECORDER_DROP_KINDS];

/*
 * That it stopped while its process went on. Noted with FORMAT_NOTE_STOPPED; the detail is a clause that
 * begins with the time: "2026-11-26 14:37:36 UTC: limit of 65536 bytes reached".
 */
int recorder_stop_note(struct json *json, const struct value *object, const struct format_sink *sink,
                       uint64_t offset, struct error *error);

#endif

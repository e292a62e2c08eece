#ifndef NCCLPROF_FORMAT_FLIGHT_RECORDER_ENTRY_H
#define NCCLPROF_FORMAT_FLIGHT_RECORDER_ENTRY_H

#include "format/flight_recorder/dump.h"
#include "format/flight_recorder/words.h"

#include <stddef.h>

/* Reads the entries of a dump one after the other. What repeats from one to the next is looked up once. */

enum entry_key {
    KEY_OTHER = 0,
    KEY_RECORD_ID,
    KEY_PG_ID,
    KEY_PROCESS_GROUP,
    KEY_COLLECTIVE_SEQ_ID,
    KEY_P2P_SEQ_ID,
    KEY_SEQ_ID,
    KEY_PROFILING_NAME,
    KEY_TIME_CREATED_NS,
    KEY_TIME_CREATED_US,
    KEY_DURATION_MS,
    KEY_INPUT_SIZES,
    KEY_OUTPUT_SIZES,
    KEY_INPUT_DTYPES,
    KEY_OUTPUT_DTYPES,
    KEY_STATE,
    KEY_TIME_DISCOVERED_STARTED_NS,
    KEY_TIME_DISCOVERED_COMPLETED_NS,
    KEY_IS_P2P,
    KEY_FRAMES,
    KEY_RETIRED,
    KEY_COUNT
};

enum { ENTRY_KEYS_KNOWN = 64, ENTRY_FILES_KNOWN = 64 };

struct entry_reader {
    struct dump *dump;
    size_t items_left;    /* of lists, that may be looked at */
    size_t members_left;  /* of entries and frames, likewise */
    size_t unread_frames; /* of so many entries that was not enough */
    struct {
        const char *text;
        enum entry_key key;
    } keys[ENTRY_KEYS_KNOWN]; /* by place: mostly the same as in the entry before */
    const char *name_text;    /* that the name below was read from */
    struct call_name name;
    struct {
        const char *text;
        int is_users;
    } files[ENTRY_FILES_KNOWN];    /* of frames, by a hash of where the text stands */
    const struct value *groups_by; /* what the group below was found by */
    int32_t group;
};

/* `bytes` of the file bound how much of what is shared is looked at. */
void entry_reader_init(struct entry_reader *reader, struct dump *dump, size_t bytes);

/* Adds an entry to the dump. 0; 1 when it is none, or more is shared than can be looked at; -1: no memory. */
int entry_take(struct entry_reader *reader, const struct value *value);

#endif

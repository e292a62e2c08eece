#ifndef NCCLPROF_INPUT_TOKENS_H
#define NCCLPROF_INPUT_TOKENS_H

#include "base/error.h"
#include "input/raw_json.h"

#include <stddef.h>
#include <stdint.h>

struct input; /* input/input.h */

/*
 * Pulls values out of one JSON text, however long it is and whatever lines it has: those that stand at the
 * paths asked for, one after the other. Memory is the input's window; a value that is handed out is no longer
 * than TOKENS_VALUE_BYTES. What is damaged is told and passed over: after a value that cannot be followed to
 * its end (a quote too many) reading goes on where the next one begins as its neighbours do.
 *
 * A path names members, from the outermost: "distributedInfo.rank"; "[]" stands for each item of an array,
 * "*" for each member of an object: "traceEvents[]", "pg_config.*", "*". A value at several of them comes at
 * the longest: with "*" and "traceEvents[]" the events come one by one, and each other member whole.
 */
enum { TOKENS_VALUE_BYTES = 1 << 20, TOKENS_PATHS = 8, TOKENS_LEVELS = 8 };

enum tokens_kind {
    TOKENS_VALUE,
    TOKENS_DAMAGE,   /* text that is no JSON where it stands: value.text is its beginning */
    TOKENS_TOO_LONG, /* a value longer than can be handed out: value.text is its beginning */
    TOKENS_CUT,      /* the text ends within a value: value.text is what there is of it */
    TOKENS_END
};

struct tokens_value {
    enum tokens_kind kind;
    size_t path;           /* which one it stands at */
    struct raw_json key;   /* in its object; length 0: an item of an array */
    struct raw_json value; /* borrowed, as the key is, until the next call */
    uint64_t offset;       /* of its first byte, in the unpacked input */
};

/* Where a container was entered, and what of each path is still to come. */
struct tokens_level {
    const char *rest[TOKENS_PATHS]; /* NULL: not on that path */
    char closing;                   /* '}' or ']'; '\0': outside of all */
    char has_value;
    char mark[40]; /* what its values begin with, a line break and spaces before it where there are */
    size_t mark_bytes;
};

struct tokens {
    struct input *input; /* borrowed, as are the paths */
    const char *const *paths;
    size_t path_count;
    struct tokens_level levels[TOKENS_LEVELS + 1];
    size_t depth;
    const char *text; /* what of the input is at hand */
    const char *at;
    const char *end;
    uint64_t offset; /* of text */
    int at_end;      /* there is no more than this */
    int is_over;     /* the outermost value has ended */
    int must_resume; /* what was handed out last was damaged, and stands there still */
    int must_skip;   /* ... was too long */
    char key[256];   /* of the value being read: a longer one is cut, and fits no path but "*" */
    size_t key_bytes;
};

/* `paths` are ended by NULL, TOKENS_PATHS at most. Nothing is to be released. */
void tokens_init(struct tokens *tokens, struct input *input, const char *const *paths);

/* The next value, or what stands in its place. -1 when reading failed, after all that could be read. */
int tokens_next(struct tokens *tokens, struct tokens_value *value, struct error *error);

/*
 * Whether more text follows the outermost value: the input stands there then, at its first byte that is no
 * space, and tokens_init may begin anew.
 */
int tokens_leave(struct tokens *tokens);

#endif

#ifndef NCCLPROF_INPUT_VALUE_H
#define NCCLPROF_INPUT_VALUE_H

#include <stddef.h>
#include <stdint.h>

/*
 * A tree of plain values, whatever a file spelled them in: pickle or JSON. What is read from strangers' bytes
 * is bounded in depth (VALUE_DEPTH_MOST) and in memory (struct values, bytes_most). A list or dictionary may
 * stand in several places: it is shared, never copied, and no way leads from one back to itself. Whoever
 * walks a tree must therefore bound how many items he looks at: what is shared often is written once.
 *
 * Texts are UTF-8 as the file has them (hostile: unchecked), borrowed from its bytes or from the arena, and
 * not followed by a NUL.
 */
enum value_kind {
    VALUE_NULL = 0,
    VALUE_BOOLEAN,
    VALUE_INTEGER,
    VALUE_NUMBER,  /* a double */
    VALUE_DECIMAL, /* a number as JSON spells it, in `text`: exact, and of any size */
    VALUE_TEXT,
    VALUE_LIST,      /* and a tuple */
    VALUE_DICTIONARY /* keys may be of any kind */
};

/* No dump is as deep: a Flight Recorder's frames lie at level 5. */
enum { VALUE_DEPTH_MOST = 64 };

struct value {
    enum value_kind kind;
    uint32_t length; /* of a text or decimal, in bytes */
    union {
        int64_t integer; /* of a boolean 0 or 1 */
        double number;
        const char *text;
        struct value_items *items; /* of a list or dictionary */
    };
};

/* Of a list its values, of a dictionary keys and values in turn, as they stand in the file. */
struct value_items {
    struct value *items; /* in the arena */
    size_t count;
    size_t capacity;
    uint32_t depth;  /* of the deepest value below, 1: none of them is a list or dictionary */
    uint64_t offset; /* in the file, of its first byte */
    int is_closed;   /* it stands in another one: nothing can be added any more */
    int is_cut;      /* the file was damaged before its end: items may be missing */
};

/* Where values live: freed all at once. */
struct values {
    struct values_chunk *chunks; /* owned */
    size_t bytes;                /* taken so far */
    size_t bytes_most;           /* more is refused */
    uint32_t depth_most;         /* of lists and dictionaries in each other: VALUE_DEPTH_MOST */
};

enum values_status {
    VALUES_OK = 0,
    VALUES_NO_MEMORY = -1,
    VALUES_TOO_MANY = -2,
    VALUES_TOO_DEEP = -3,
    VALUES_CYCLE = -4
};

void values_init(struct values *values, size_t bytes_most);
void values_release(struct values *values);

/* The same, but that memory for more values is kept. */
void values_clear(struct values *values);

/* Memory that lives as long as the values do. NULL when there is none left, or the bound is reached. */
void *values_take(struct values *values, size_t bytes);

/* Why values_take() gave none for so many bytes. */
enum values_status values_why_none(const struct values *values, size_t bytes);

/* An empty list or dictionary into *value, which begins at that offset of the file. */
enum values_status values_container(struct values *values, enum value_kind kind, uint64_t offset,
                                    struct value *value);

/*
 * Adds `count` values behind those that a list or dictionary has; of a dictionary keys and values in turn.
 * What is added is closed: as only open ones take something up, none can come to contain itself.
 */
enum values_status values_add(struct values *values, struct value_items *into, const struct value *added,
                              size_t count);

/* Whether a value is this text. */
int value_is(const struct value *value, const char *text);

/* The value under a text as key; NULL when there is none, or when it is NULL or no dictionary, or one of more
 * than 1,024 members, which no record has. Of several the last counts, as it does in Python. */
const struct value *value_member(const struct value *dictionary, const char *key);

/* The items of a list; NULL where it is NULL or something else. */
const struct value_items *value_list(const struct value *value);

/* Where the items of a list or dictionary begin and end; both NULL where it is NULL or something else. */
const struct value *value_begin(const struct value *value);
const struct value *value_end(const struct value *value);

/* Whether it is there and of this kind. */
static inline int value_is_of(const struct value *value, enum value_kind kind)
{
    return value && value->kind == kind;
}

/* A whole number; -1 and *into as it was where it is none, NULL included. A text of decimal digits is one. */
int value_int64(const struct value *value, int64_t *into);

#endif

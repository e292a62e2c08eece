#ifndef NCCLPROF_INPUT_JSON_H
#define NCCLPROF_INPUT_JSON_H

#include <stddef.h>

struct values;

/* -------------------- walk.c -------------------- */

/*
 * JSON read where it lies: nothing is copied, and only what is asked for is looked at. What json.c would make
 * of a value is the same for all that it takes; some of what it refuses is passed over here (words that mean
 * nothing, brackets closed by braces) where nobody asks for it.
 */

/* Values nested deeper are refused. */
enum { RAW_JSON_DEPTH = 512 };

/* How far a value has been followed, whose text may come in pieces. Zero before its first byte. */
struct raw_json_scan {
    int depth;      /* of braces and brackets that are open */
    char in;        /* '"': inside a string; 'w': inside a number or a word; '\0' */
    int is_escaped; /* the next byte of the string is taken as it is */
    int is_broken;  /* it is no value: a line ends within a string, or it is nested too deep */
};

/*
 * Where a value ends, which begins at `text`, or goes on there. NULL: not in this piece, which is all taken
 * in, or the value is broken. A number or word ends with what follows it, or with the input.
 */
const char *raw_json_end(struct raw_json_scan *scan, const char *text, const char *end);

/* -------------------- tokens.c -------------------- */

/* Whether one of the functions above for decimal numbers can read it. */
int number_fits(const char *text, size_t length);

/* -------------------- value.c -------------------- */

/* No dump is as deep: a Flight Recorder's frames lie at level 5. */
enum { VALUE_DEPTH_MOST = 64 };

/* The same, but that memory for more values is kept. */
void values_clear(struct values *values);

/* -------------------- json.c -------------------- */

/*
 * A small JSON text as a tree of values (input/value.h). What is long is pulled apart by input/tokens.h
 * first.
 *
 * What is JSON here is what cJSON takes, to which the tests hold it: any byte up to a space stands for one
 * between the parts of a text, strings may hold line breaks and bytes that are no UTF-8. Numbers are those of
 * JSON, and exact: cJSON keeps doubles, which 64-bit hashes and clocks do not survive. What needs more than
 * to be taken as it stands, strings with escapes and fractions, is given to cJSON, to which this is the only
 * door.
 *
 * Keys are matched with case. Of keys that come twice in an object the first counts. Strings end at their
 * first NUL, and `misread` is set then. Values nested deeper than JSON_DEPTH_MOST are refused.
 */
enum { JSON_DEPTH_MOST = 1000 };

#endif

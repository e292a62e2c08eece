#ifndef NCCLPROF_INPUT_JSON_H
#define NCCLPROF_INPUT_JSON_H

#include <stddef.h>

struct values;

/* -------------------- walk.c -------------------- */

/*
 * Reads JSON in place: nothing is copied, and only the requested values are examined. Every value that json.c
 * accepts is read identically here. Some invalid text that json.c refuses (unknown words, brackets closed by
 * braces) is not detected here in values that the caller does not request.
 */

/* Values nested deeper than this are refused. */
enum { RAW_JSON_DEPTH = 512 };

/* The state of a search for the end of a value whose text may come in pieces. Zero before the first byte. */
struct raw_json_scan {
    int depth;      /* number of open braces and brackets */
    char in;        /* '"': inside a string; 'w': inside a number or word; '\0': neither */
    int is_escaped; /* the next byte of the string is escaped */
    int is_broken;  /* invalid: a line ends within a string, or nesting is too deep */
};

/*
 * Finds the end of a value that begins at `text` or continues there. Returns NULL if the value does not end
 * in this piece, which is then consumed completely, or if it is broken. A number or word ends at the byte
 * that follows it, or at the end of the input.
 */
const char *raw_json_end(struct raw_json_scan *scan, const char *text, const char *end);

/* -------------------- tokens.c -------------------- */

/* Whether one of the functions for decimal numbers can represent it. */
int number_fits(const char *text, size_t length);

/* -------------------- value.c -------------------- */

/* No dump is nested this deep: the frames of a Flight Recorder dump are at level 5. */
enum { VALUE_DEPTH_MOST = 64 };

/* Like values_release, but keeps memory for further values. */
void values_clear(struct values *values);

/* -------------------- json.c -------------------- */

/*
 * Parses small JSON texts into a tree of values (value.c). Long texts are first split up by tokens.c.
 *
 * The accepted language is that of cJSON, which the tests compare with: any byte up to a space is white
 * space, and strings may contain line breaks and invalid UTF-8. Numbers are JSON numbers and exact, while
 * cJSON converts them to double, which loses digits of 64-bit hashes and clocks. Only strings with escapes
 * and fractions are passed to cJSON. No other file calls cJSON.
 *
 * Keys are case-sensitive. Of duplicate keys in an object the first one counts. A string ends at its first
 * NUL, and `misread` is set then. Values nested deeper than JSON_DEPTH_MOST are refused.
 */
enum { JSON_DEPTH_MOST = 1000 };

#endif

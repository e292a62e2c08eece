#ifndef NCCLPROF_FORMAT_KINETO_FIXED_H
#define NCCLPROF_FORMAT_KINETO_FIXED_H

#include "input/raw_json.h"

/*
 * The quick way through an event as torch prints it: its members always stand in one order, with texts that
 * have no escapes and numbers. What differs in anything is left to a reader of any JSON, which says the same
 * of what is taken here.
 */

/* What stands outside of the arguments; length 0: not there. */
struct kineto_head {
    struct raw_json category; /* without quotes, as the name is */
    struct raw_json name;
    struct raw_json process;
    struct raw_json thread;
    struct raw_json begin;
    struct raw_json duration;
    struct raw_json arguments;
};

/* Where the reading of an event stands. */
struct kineto_fixed {
    const char *at;
    const char *end;
    int is_flow; /* an arrow, not a span: the members before its name are others */
};

/* Category and name, and that a member or the end follows. 1; 0: it is not printed so. */
int kineto_fixed_begin(struct kineto_fixed *fixed, struct raw_json text, struct kineto_head *head);

/* The rest of a span. Its arguments are taken to be all that is left: whoever reads them sees whether so. */
int kineto_fixed_rest(struct kineto_fixed *fixed, struct kineto_head *head);

#endif

#ifndef NCCLPROF_STORE_LEDGER_H
#define NCCLPROF_STORE_LEDGER_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* What one file holds that did not become an event, by reason: the rows of table ledger before they are rows.
 */

enum {
    LEDGER_REASONS = 64, /* reasons past these are counted together under one */
    LEDGER_EXAMPLE_BYTES = 120
};

struct ledger_entry {
    char *reason; /* owned */
    int damage;
    int64_t count;
    uint64_t first_offset;
    char example[LEDGER_EXAMPLE_BYTES + 1]; /* hostile; what follows a NUL is left out */
};

struct ledger {
    struct ledger_entry entries[LEDGER_REASONS];
    size_t count;
};

void ledger_init(struct ledger *ledger);
void ledger_release(struct ledger *ledger);

/* Counts one more; the arguments are those of a format_sink's note. */
int ledger_note(struct ledger *ledger, const char *reason, int damage, uint64_t offset, const char *detail,
                size_t detail_length, struct error *error);

/* Counts what stands in the other one, too, which is of a later part of the same file. */
int ledger_add(struct ledger *ledger, const struct ledger *part, struct error *error);

/* All counts together, and those with damage. */
int64_t ledger_total(const struct ledger *ledger);
int64_t ledger_damage(const struct ledger *ledger);

/* The entry with that reason; NULL when there is none. */
const struct ledger_entry *ledger_find(const struct ledger *ledger, const char *reason);

/* The entry of this reason where all that is in it, damage aside, has this reason; else NULL. */
const struct ledger_entry *ledger_only(const struct ledger *ledger, const char *reason);

/* The entry with damage that stands first in the file; NULL when there is none. */
const struct ledger_entry *ledger_first_damage(const struct ledger *ledger);

#endif

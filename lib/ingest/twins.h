#ifndef NCCLPROF_INGEST_TWINS_H
#define NCCLPROF_INGEST_TWINS_H

#include "base/error.h"

#include <stddef.h>

struct known;
struct walk;

/*
 * The bundled plugin can write a Chrome trace and Inspector lines of the same operations at once: NAME.json
 * and NAME.jsonl, packed or not. Flight Recorder's dumps are often written twice: NAME, NAME.pkl or
 * NAME.pickle, and NAME.json, which lacks the stacks. Takes the latter out of `walk` where the former is
 * beside it, which says more, and is in `walk`, too, or in the store already; *left_out of them. -1 when
 * memory is out.
 */
int twins_leave_out(struct walk *walk, const struct known *known, size_t *left_out, struct error *error);

#endif

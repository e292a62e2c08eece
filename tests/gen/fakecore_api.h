/*
 * The plugin as NCCL's core of any API version calls it: events are described once, in the descriptor of the
 * released version 7, and cut down to the version played, as NCCL itself does. What the plugin gets ends
 * where the version's own descriptor ends, with memory behind it that nobody may touch, and what is not set
 * is poison.
 */
#ifndef FAKECORE_API_H
#define FAKECORE_API_H

#include <stdbool.h>
#include <stdint.h>

#include "fakecaller.h"
#include "nccl_layout.h"

/* In each eight bytes that the core did not set: to follow it as a pointer faults. */
#define FAKE_POISON UINT64_C(0xdead000000000001)

struct fake_plugin {
    int version;
    bool has_tags; /* version 7 is that of pull request 2045 */
    struct nccl_table *table;
    void *library;
    fakecaller_function *call_init;
};

/* Called by the program itself. 0; or -1 with a line on standard error. */
int fake_plugin_load(struct fake_plugin *plugin, const char *path, int version);
/* Called by this library from now on: one that fakecaller.c was linked into. Likewise. */
int fake_plugin_call_from(struct fake_plugin *plugin, const char *library);

void fake_init(const struct fake_plugin *plugin, void **context, int *mask, uint64_t hash, const char *name,
               int nodes, int ranks, int rank, nccl_logger *logger);
/* hash and name go into the operations of versions 1 to 3. */
void fake_start(const struct fake_plugin *plugin, void *context, void **handle,
                const struct nccl_event_v7 *event, uint64_t hash, const char *name);
/* ncclNotifyTag's event, in the version 7 that has one. */
void fake_tag(const struct fake_plugin *plugin, void *context, int rank, const char *tag);
/* An event of which nothing but its type is set. False if the version's type cannot hold that. */
bool fake_start_unknown(const struct fake_plugin *plugin, void *context, void **handle, uint64_t type);
void fake_stop(const struct fake_plugin *plugin, void *handle);
/* Where the version has the state. */
void fake_state(const struct fake_plugin *plugin, void *handle, int state, uint64_t value, int steps);
/* With values at an address that faults. */
void fake_state_unknown(const struct fake_plugin *plugin, void *handle, int state);
void fake_finalize(const struct fake_plugin *plugin, void *context);

/* Every event, and the last state, that the version played knows. */
uint64_t fake_events_known(const struct fake_plugin *plugin);
int fake_last_state(const struct fake_plugin *plugin);

#endif

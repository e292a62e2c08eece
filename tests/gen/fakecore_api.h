/*
 * Calls the plugin as NCCL's core of any API version does: events are described once, in the descriptor of
 * the released version 7, and reduced to the played version, as NCCL itself does. The memory that the plugin
 * gets ends where the descriptor of the version ends, with inaccessible memory after it, and everything that
 * is not set is poison.
 */
#ifndef FAKECORE_API_H
#define FAKECORE_API_H

#include <stdbool.h>
#include <stdint.h>

#include "fakecaller.h"
#include "nccl_layout.h"

/* In every eight bytes that the core did not set: following it as a pointer faults. */
#define FAKE_POISON UINT64_C(0xdead000000000001)

struct fake_plugin {
    int version;
    bool has_tags; /* version 7 is that of pull request 2045 */
    struct nccl_table *table;
    void *library;
    fakecaller_function *call_init;
};

/* The plugin is called by the program itself. Returns 0, or -1 with a line on standard error. */
int fake_plugin_load(struct fake_plugin *plugin, const char *path, int version);
/* From now on the plugin is called by this library, into which fakecaller.c was linked. Returns the same. */
int fake_plugin_call_from(struct fake_plugin *plugin, const char *library);

void fake_init(const struct fake_plugin *plugin, void **context, int *mask, uint64_t hash, const char *name,
               int nodes, int ranks, int rank, nccl_logger *logger);
/* hash and name are passed in the operations of versions 1 to 3. */
void fake_start(const struct fake_plugin *plugin, void *context, void **handle,
                const struct nccl_event_v7 *event, uint64_t hash, const char *name);
/* The event of ncclNotifyTag, in the version 7 that has it. */
void fake_tag(const struct fake_plugin *plugin, void *context, int rank, const char *tag);
/* An event of which only the type is set. False if the version's type cannot hold that value. */
bool fake_start_unknown(const struct fake_plugin *plugin, void *context, void **handle, uint64_t type);
void fake_stop(const struct fake_plugin *plugin, void *handle);
/* If the version has this state. */
void fake_state(const struct fake_plugin *plugin, void *handle, int state, uint64_t value, int steps);
/* With values at an address that faults. */
void fake_state_unknown(const struct fake_plugin *plugin, void *handle, int state);
void fake_finalize(const struct fake_plugin *plugin, void *context);

/* All events, and the last state, of the played version. */
uint64_t fake_events_known(const struct fake_plugin *plugin);
int fake_last_state(const struct fake_plugin *plugin);

#endif

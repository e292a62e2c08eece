/*
 * The plugin as NCCL's core of any API version calls it: events are described once, in version 7's
 * descriptor, and cut down to the version played, as NCCL itself does.
 */
#ifndef FAKECORE_API_H
#define FAKECORE_API_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/api.h"

struct fake_plugin {
    int version;
    void *table; /* struct api_plugin_v<version> */
    void *library;
};

/* 0; or -1 with a line on standard error. */
int fake_plugin_load(struct fake_plugin *plugin, const char *path, int version);

void fake_init(const struct fake_plugin *plugin, void **context, int *mask, uint64_t hash, const char *name,
               int nodes, int ranks, int rank, api_logger *logger);
/* hash and name go into the operations of versions 1 to 3. */
void fake_start(const struct fake_plugin *plugin, void *context, void **handle,
                struct api_descriptor_v7 *event, uint64_t hash, const char *name);
void fake_stop(const struct fake_plugin *plugin, void *handle);
void fake_state(const struct fake_plugin *plugin, void *handle, int state, uint64_t value, int steps);
void fake_finalize(const struct fake_plugin *plugin, void *context);

#endif

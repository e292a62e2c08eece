#include "plugin/write/launcher.h"

#include <stddef.h>
#include <stdlib.h>

static const char *const launchers[][2] = {
    {"RANK", "LOCAL_RANK"}, /* torchrun; first: it is often run by one of the others */
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"SLURM_PROCID", "SLURM_LOCALID"},
    {"PMI_RANK", "MPI_LOCALRANKID"},
    {"PMIX_RANK", "PMIX_LOCAL_RANK"},
};

static const char *value_of(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

struct launcher_rank launcher_rank(void)
{
    for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
        const char *global = value_of(launchers[i][0]);
        if (global)
            return (struct launcher_rank){global, value_of(launchers[i][1])};
    }
    return (struct launcher_rank){NULL, NULL};
}

#include "plugin/write/place.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/write/launcher.h"

static long read_number(const char *text)
{
    if (!text || strspn(text, "0123456789") == 0)
        return -1;
    char *end;
    long number = strtol(text, &end, 10);
    return *end || number >= INT_MAX ? -1 : number;
}

/* As the framework sets it for us; else torchrun's, which by default says nothing. */
static void read_name(char *name, size_t size)
{
    const char *own = getenv("NCCLPROF_RANK_NAME");
    const char *role = getenv("ROLE_NAME");
    long rank = read_number(getenv("ROLE_RANK"));
    if (own && *own)
        snprintf(name, size, "%s", own);
    else if (role && *role && strcmp(role, "default") != 0 && rank >= 0)
        snprintf(name, size, "%s %ld", role, rank);
}

void place_read_environment(struct place *place)
{
    struct launcher_rank told = launcher_rank();
    memset(place, 0, sizeof(*place));
    place->rank = read_number(told.global);
    place->local_rank = read_number(told.local);
    place->gpu.number = -1;
    read_name(place->rank_name, sizeof(place->rank_name));
    gpu_settings_read(&place->gpu_settings);
    nic_settings_read(&place->nic_settings);
}

void place_find_devices(struct place *place, const char *root)
{
    gpu_in_use_find(&place->gpu, &place->gpu_settings, root);
    nic_in_use_find(place->nic, sizeof(place->nic), &place->nic_settings, root);
}

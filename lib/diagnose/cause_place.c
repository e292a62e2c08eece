/* Which rank a place in a record of a node belongs to, and how people call it. */
#include "base/base.h"
#include "diagnose/finding.h"
#include "diagnose/finding_place.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The host of the records that a rank ran on. Records without a name are those of a job with one host. */
static int32_t find_host(const struct cause_places *places, const char *name, int is_only)
{
    const struct node_hosts *hosts = &places->hosts;
    int32_t found = node_hosts_find(hosts, name);
    if (found >= 0)
        return found;
    for (size_t i = 0; is_only && i < hosts->count; i++)
        if (!hosts->items[i].name)
            return (int32_t)i;
    return -1;
}

static int place_ranks(struct cause_places *places)
{
    const struct job *job = places->job;
    unsigned char *has = array_new(places->hosts.count + 1, 1);
    size_t hosts = 0;
    if (!has || job_count_hosts(job, &hosts)) {
        free(has);
        return -1;
    }
    for (size_t i = 0; i < job->rank_count; i++) {
        places->host_of[i] = find_host(places, job->ranks[i].facts.host, hosts == 1);
        if (places->host_of[i] >= 0 && !has[places->host_of[i]]++)
            places->host_count++;
    }
    free(has);
    return 0;
}

static int by_address(const void *a, const void *b)
{
    return strcasecmp(((const struct node_gpu *)a)->bus_id, ((const struct node_gpu *)b)->bus_id);
}

/*
 * The driver numbers GPUs by PCI address. Where a host's records have the addresses of as many GPUs as it has
 * ranks, but no numbers, these follow.
 */
static void number_gpus(struct cause_places *places, size_t at)
{
    struct node_host *host = &places->hosts.items[at];
    size_t ranks = 0;
    for (size_t i = 0; i < places->job->rank_count; i++)
        ranks += places->host_of[i] == (int32_t)at;
    for (size_t i = 0; i < host->gpu_count; i++)
        if (host->gpus[i].index != COUNT_UNKNOWN || !host->gpus[i].bus_id)
            return;
    if (!ranks || ranks != host->gpu_count)
        return;
    array_sort(host->gpus, host->gpu_count, sizeof *host->gpus, by_address);
    for (size_t i = 0; i < host->gpu_count; i++)
        host->gpus[i].index = (int64_t)i;
}

int cause_places_init(struct cause_places *places, const struct job *job, struct error *error)
{
    *places = (struct cause_places){.job = job};
    if (!job->store || node_hosts_load(&places->hosts, job->store, error))
        return job->store ? -1 : 0;
    if (!places->hosts.count)
        return 0;
    places->seats = array_new(job->rank_count + 1, sizeof *places->seats);
    places->host_of = array_new(job->rank_count + 1, sizeof *places->host_of);
    places->is_accused = array_new(job->rank_count + 1, 1);
    places->has_uses = array_new(places->hosts.count + 1, 1);
    if (!places->seats || !places->host_of || !places->is_accused || !places->has_uses || place_ranks(places))
        return error_no_memory(error);
    for (size_t i = 0; i < places->hosts.count; i++)
        number_gpus(places, i);
    return 0;
}

void cause_places_release(struct cause_places *places)
{
    for (size_t i = 0; places->seats && i < places->job->rank_count; i++)
        rank_clock_release(&places->seats[i].clock);
    free(places->seats);
    free(places->host_of);
    free(places->is_accused);
    for (size_t i = 0; i < places->use_count; i++)
        free(places->uses[i].device);
    free(places->uses);
    free(places->has_uses);
    node_hosts_release(&places->hosts);
    *places = (struct cause_places){.job = NULL};
}

const struct rank_clock *cause_clock(struct cause_places *places, int32_t rank, struct error *error)
{
    struct cause_seat *seat = &places->seats[rank];
    if (!seat->is_loaded && rank_clock_load(&seat->clock, places->job, rank, error))
        return NULL;
    seat->is_loaded = 1;
    return &seat->clock;
}

/* What is on one of several hosts does not explain why the links to all of them are slow. */
static int are_on_one_host(const struct cause_places *places, const int32_t *ranks, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (places->host_of[ranks[i]] != places->host_of[ranks[0]])
            return 0;
    return 1;
}

struct use_reading {
    struct cause_places *places;
    size_t host;
};

static int take_use(void *context, const struct node_message *message)
{
    struct use_reading *reading = context;
    struct cause_places *places = reading->places;
    const struct node_event *said = &message->said;
    if (said->code != NODE_EVENT_JOB_PROCESS || !said->device || said->pid == COUNT_UNKNOWN)
        return 0;
    char *device = strdup(said->device);
    if (!device || array_reserve((void **)&places->uses, &places->use_capacity, places->use_count + 1,
                                 sizeof *places->uses)) {
        free(device);
        return -1;
    }
    places->uses[places->use_count++] = (struct cause_use){reading->host, said->pid, device};
    return 0;
}

int cause_place_uses(struct cause_places *places, size_t host, struct error *error)
{
    struct use_reading reading = {places, host};
    if (places->has_uses[host])
        return 0;
    places->has_uses[host] = 1;
    return node_messages_read(&places->hosts.items[host], places->job->store, take_use, &reading, error);
}

void cause_accuse(struct cause_places *places, const struct finding *finding)
{
    struct rank_span ranks = finding_accused(finding);
    int has_end =
        finding->kind == FINDING_NETWORK && are_on_one_host(places, finding->peers, finding->peer_count);
    memset(places->is_accused, 0, places->job->rank_count);
    for (size_t i = 0; has_end && i < finding->peer_count; i++)
        places->is_accused[finding->peers[i]] = 2;
    for (size_t i = 0; i < ranks.count; i++)
        places->is_accused[ranks.items[i]] = 1;
}

int cause_host_is_accused(const struct cause_places *places, size_t host)
{
    for (size_t i = 0; i < places->job->rank_count; i++)
        if (places->host_of[i] == (int32_t)host && places->is_accused[i])
            return 1;
    return 0;
}

int cause_host_is_blamed(const struct cause_places *places, size_t host)
{
    for (size_t i = 0; i < places->job->rank_count; i++)
        if (places->host_of[i] == (int32_t)host && places->is_accused[i] == 1)
            return 1;
    return 0;
}

int cause_host_shares_machine(const struct cause_places *places, size_t host)
{
    const struct node_hosts *hosts = &places->hosts;
    const char *boot_id = hosts->items[host].boot_id;
    for (size_t i = 0; boot_id && !cause_host_is_accused(places, host) && i < hosts->count; i++)
        if (i != host && hosts->items[i].boot_id && strcmp(hosts->items[i].boot_id, boot_id) == 0 &&
            cause_host_is_accused(places, i))
            return 1;
    return 0;
}

/* PCI addresses with and without leading zeros of the domain, in either case. */
static int bus_ids_agree(const char *one, const char *other)
{
    char *rest, *other_rest;
    if (!one || !other)
        return 0;
    unsigned long domain = strtoul(one, &rest, 16), other_domain = strtoul(other, &other_rest, 16);
    return *rest == ':' && *other_rest == ':' && domain == other_domain && strcasecmp(rest, other_rest) == 0;
}

static int64_t index_in(const char *device)
{
    char *end;
    if (strncmp(device, "index ", 6) != 0 || !is_digit(device[6]))
        return COUNT_UNKNOWN;
    long number = strtol(device + 6, &end, 10);
    return *end ? COUNT_UNKNOWN : number;
}

/* All names of a GPU, as the facts of its host tell. */
static struct node_gpu gpu_called(const struct node_host *host, const char *device)
{
    int64_t index = index_in(device);
    for (size_t i = 0; i < host->gpu_count; i++) {
        const struct node_gpu *gpu = &host->gpus[i];
        if (bus_ids_agree(gpu->bus_id, device) || (gpu->uuid && strcmp(gpu->uuid, device) == 0) ||
            (index != COUNT_UNKNOWN && gpu->index == index))
            return *gpu;
    }
    return (struct node_gpu){.index = index};
}

/*
 * The number of a rank's GPU on its host. Where no record gives it, and the host has as many GPUs as ranks of
 * the job, launchers give them to the ranks in order.
 */
static int64_t number_of_gpu(const struct cause_places *places, size_t host, int32_t rank)
{
    const struct job *job = places->job;
    int64_t number = rank_gpu_number(job, rank), before = 0;
    size_t ranks = 0;
    if (number != COUNT_UNKNOWN || job->ranks[rank].facts.gpu != COUNT_UNKNOWN)
        return number;
    for (size_t i = 0; i < job->rank_count; i++) {
        if (places->host_of[i] != (int32_t)host)
            continue;
        if (job->ranks[i].global_rank < 0)
            return COUNT_UNKNOWN;
        ranks++;
        before += job->ranks[i].global_rank < job->ranks[rank].global_rank;
    }
    return ranks == places->hosts.items[host].gpu_count ? before : COUNT_UNKNOWN;
}

/* The GPU that the process of a rank used; NULL: not recorded, or several. */
static const char *gpu_used_by(const struct cause_places *places, size_t host, int32_t rank)
{
    const struct cause_seat *seat = &places->seats[rank];
    const char *found = NULL;
    for (size_t i = 0; seat->is_loaded && i < places->use_count; i++) {
        const struct cause_use *use = &places->uses[i];
        if (use->host != host || use->pid != seat->clock.pid)
            continue;
        if (found && !bus_ids_agree(found, use->device))
            return NULL;
        found = use->device;
    }
    return found;
}

/*
 * Whether a GPU is that of a rank: by address, else by UUID, as the trace has them; else as the record of the
 * host says which process uses which GPU; else by its number on the host.
 */
static int is_gpu_of(const struct cause_places *places, size_t host, const char *device, int32_t rank)
{
    const struct roster_facts *facts = &places->job->ranks[rank].facts;
    struct node_gpu gpu = gpu_called(&places->hosts.items[host], device);
    const char *bus_id = gpu.bus_id ? gpu.bus_id : strchr(device, ':') ? device : NULL;
    const char *uuid = gpu.uuid ? gpu.uuid : device;
    if (facts->gpu_bus_id && bus_id)
        return bus_ids_agree(bus_id, facts->gpu_bus_id);
    if (facts->gpu_serial && strncmp(facts->gpu_serial, "GPU-", 4) == 0 && strncmp(uuid, "GPU-", 4) == 0)
        return strcmp(uuid, facts->gpu_serial) == 0;
    const char *used = bus_id ? gpu_used_by(places, host, rank) : NULL;
    if (used)
        return bus_ids_agree(bus_id, used);
    int64_t number = number_of_gpu(places, host, rank);
    return number != COUNT_UNKNOWN && gpu.index == number;
}

/* Whether "4711" or "4711/4720 NAME" is of the process; of a thread, whether it is one of NCCL's. */
static int is_process_of(const struct cause_places *places, const char *device, int is_proxy, int32_t rank)
{
    const struct cause_seat *seat = &places->seats[rank];
    char *end;
    if (!seat->is_loaded || seat->clock.pid == COUNT_UNKNOWN ||
        strtoll(device, &end, 10) != seat->clock.pid || end == device)
        return 0;
    if (!is_proxy)
        return 1;
    const char *name = strchr(device, ' ');
    return name && (strstr(name, "NCCL") || strstr(name, "Proxy"));
}

static int is_process_of_any(const struct cause_places *places, size_t host, const char *device)
{
    for (int32_t rank = 0; rank < (int32_t)places->job->rank_count; rank++)
        if (places->host_of[rank] == (int32_t)host && is_process_of(places, device, 0, rank))
            return 1;
    return 0;
}

/* "mlx5_1" of the process is "mlx5_1/1" in the record; whatever follows the name is left out. */
static int is_nic_of(const char *device, const char *nics)
{
    size_t length = strcspn(device, "/:");
    for (const char *at = nics; at && *at;) {
        size_t named = strcspn(at, ",; ");
        size_t name = strcspn(at, ",; /:");
        if (name == length && strncmp(at, device, length) == 0)
            return 1;
        at += named;
        at += strspn(at, ",; ");
    }
    return 0;
}

/*
 * A process on a host, as a message of its kernel names it, is that of a rank or any other; containers have
 * other numbers. Where a rank does not say which network card it uses, any that the host uses may be
 * (cause.c). */
static int is_of(const struct cause_places *places, size_t host, enum cause_place place, enum node_place of,
                 const char *device, int32_t rank)
{
    const char *nic = places->job->ranks[rank].facts.nic;
    if (place == CAUSE_ON_HOST)
        return of == NODE_WHOLE || of == NODE_DISK ||
               (of == NODE_PROCESS && (!device || !is_process_of_any(places, host, device) ||
                                       is_process_of(places, device, 0, rank)));
    if (!device)
        return 0;
    if (place == CAUSE_ON_GPU)
        return of == NODE_GPU && is_gpu_of(places, host, device, rank);
    if (place == CAUSE_ON_NETWORK)
        return (of == NODE_INTERFACE || of == NODE_PORT) && (!nic || is_nic_of(device, nic));
    return (place == CAUSE_ON_PROXY ? of == NODE_THREAD : of == NODE_PROCESS) &&
           is_process_of(places, device, place == CAUSE_ON_PROXY, rank);
}

int cause_has_rank(const struct cause_places *places, size_t host, enum cause_place place, enum node_place of,
                   const char *device, int32_t rank)
{
    return places->host_of[rank] == (int32_t)host && is_of(places, host, place, of, device, rank);
}

enum cause_side_of cause_side(const struct cause_places *places, size_t host, enum cause_place place,
                              enum node_place of, const char *device)
{
    enum cause_side_of side = CAUSE_OF_NONE;
    for (int32_t rank = 0; rank < (int32_t)places->job->rank_count; rank++) {
        if (!cause_has_rank(places, host, place, of, device, rank))
            continue;
        int is_accused = places->is_accused[rank];
        if (is_accused == 1 || (is_accused == 2 && place == CAUSE_ON_NETWORK))
            return CAUSE_OF_ACCUSED;
        side = CAUSE_OF_OTHERS;
    }
    return side;
}

int32_t cause_rank_of_process(const struct cause_places *places, size_t host, const char *device)
{
    for (int32_t rank = 0; rank < (int32_t)places->job->rank_count; rank++)
        if (places->host_of[rank] == (int32_t)host && is_process_of(places, device, 0, rank))
            return rank;
    return -1;
}

static int append_process(const struct cause_places *places, size_t host, const char *device,
                          struct buffer *text)
{
    int32_t rank = cause_rank_of_process(places, host, device);
    if (rank >= 0)
        return buffer_printf(text, "rank %s", places->job->ranks[rank].name);
    return buffer_printf(text, "process %.*s", (int)strcspn(device, "/"), device);
}

static int append_device(const struct cause_places *places, size_t host, enum node_place of,
                         const char *device, struct buffer *text)
{
    size_t name = strcspn(device, "/");
    if (of == NODE_PROCESS || of == NODE_THREAD)
        return append_process(places, host, device, text);
    if (of == NODE_PORT && device[name])
        return buffer_printf(text, "port %s of %.*s", device + name + 1, (int)name, device);
    if (of != NODE_GPU)
        return buffer_append_text(text, device);
    int64_t index = gpu_called(&places->hosts.items[host], device).index;
    return index == COUNT_UNKNOWN ? buffer_printf(text, "GPU %s", device)
                                  : buffer_printf(text, "GPU %lld", (long long)index);
}

int cause_place_append(const struct cause_places *places, size_t host, enum node_place of, const char *device,
                       struct buffer *text)
{
    const char *name = places->hosts.items[host].name;
    int failed = 0;
    for (int32_t rank = 0; rank < (int32_t)places->job->rank_count && !name; rank++)
        if (places->host_of[rank] == (int32_t)host)
            name = places->job->ranks[rank].facts.host;
    if (device && append_device(places, host, of, device, text))
        return -1;
    if (name)
        failed = (device && buffer_append_text(text, of == NODE_GPU ? " of " : " on ")) ||
                 buffer_append_text(text, name);
    else if (!device)
        failed = buffer_append_text(text, "the host");
    return failed ? -1 : 0;
}

/*
 * What GPUs say at each sample, at the glances between samples, and rarely. A call takes about 1 us of CPU
 * time for what the driver has at hand, and up to milliseconds for what it asks the GPU: on an H100 with
 * driver 580 0.4 to 0.9 us for clocks, reasons of throttling, use, temperature, power, ECC errors; 7 and 9 us
 * for memory and processes; 0.25 ms for replays and width of PCI Express, 0.2 ms for each NVLink, 2.7 ms for
 * the use by processes. The dear calls have budgets, so that the sampler stays below half a percent of a
 * core, and one of them is made at a time.
 */
#include "node/gpu.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Reasons for which clocks are lowered. */
static const struct {
    unsigned long long bit;
    enum node_metric_id metric;
} reasons[REASONS] = {{REASON_HW_THERMAL, SERIES_HW_THERMAL},
                      {REASON_HW_POWER_BRAKE, SERIES_HW_POWER_BRAKE},
                      {REASON_HW_SLOWDOWN, SERIES_HW_SLOWDOWN},
                      {REASON_SW_THERMAL, SERIES_SW_THERMAL},
                      {REASON_SW_POWER_CAP, SERIES_SW_POWER_CAP}};

/* Who else uses GPUs has a budget of its own, so that it does not wait for what all GPUs have to say. */
static const struct node_budget budgets[BUDGETS] = {
    [BUDGET_SHARES] = {.share_ppm = 1600, .most_ns = 40000000},
    [BUDGET_OTHERS] = {.share_ppm = 600, .most_ns = 10000000},
};

/* Errors of NVLink: the sums of a GPU, and where there are none, those of its links. */
static const struct {
    unsigned field;
    int metric; /* index in link_metrics */
    int is_total;
} link_fields[LINK_FIELDS] = {
    {FIELD_CRC_FLIT_TOTAL, 0, 1}, {FIELD_CRC_DATA_TOTAL, 0, 1}, {FIELD_REPLAY_TOTAL, 1, 1},
    {FIELD_RECOVERY_TOTAL, 2, 1}, {FIELD_LINK_CRC, 0, 0},       {FIELD_LINK_RECEIVE_ERRORS, 0, 0},
    {FIELD_LINK_REPLAY, 1, 0},    {FIELD_LINK_RECOVERY, 2, 0},  {FIELD_LINK_RECOVERY_EVENTS, 2, 0}};
static const enum node_metric_id link_metrics[LINK_METRICS] = {SERIES_NVLINK_CRC, SERIES_NVLINK_REPLAY,
                                                               SERIES_NVLINK_RECOVERY};

/* -------------------- start -------------------- */

static void tell_gpu(const struct gpus *all, const struct gpu *gpu, struct node_writer *writer)
{
    struct buffer json = BUFFER_INIT;
    char name[NVML_TEXT_BYTES] = "", uuid[NVML_TEXT_BYTES] = "";
    if (all->nvml.name)
        all->nvml.name(gpu->device, name, sizeof name);
    if (all->nvml.uuid)
        all->nvml.uuid(gpu->device, uuid, sizeof uuid);
    if (buffer_printf(&json, "{\"index\":%d", (int)(gpu - all->gpus)) ||
        text_json_string(&json, "bus", gpu->bus) || text_json_string(&json, "uuid", uuid) ||
        text_json_string(&json, "name", name) || buffer_append_byte(&json, '}'))
        writer->has_failed = 1;
    else
        node_line_alone(writer, node_monotonic_ns(), "gpu", json.data);
    buffer_release(&json);
}

static void tell_absent(struct node_writer *writer, const char *why)
{
    struct buffer json = BUFFER_INIT;
    if (buffer_append_text(&json, "{\"nvml\":") || text_json_quote(&json, why) ||
        buffer_append_byte(&json, '}'))
        writer->has_failed = 1;
    else
        node_line_alone(writer, node_monotonic_ns(), "absent", json.data);
    buffer_release(&json);
}

/* The number of the first namespace of processes is fixed. */
static int is_host_namespace(void)
{
    char text[64];
    ssize_t length = readlink("/proc/self/ns/pid", text, sizeof text - 1);
    text[length > 0 ? length : 0] = '\0';
    return strcmp(text, "pid:[4026531836]") == 0;
}

static int gpu_open(void *state, const struct node_files *files, struct node_writer *writer,
                    struct node_shared *shared)
{
    struct gpus *all = state;
    unsigned count = 0;
    (void)files;
    const char *why = nvml_start(&all->nvml, &count);
    all->sees_job = is_host_namespace();
    node_mark_make(all->mark);
    for (int i = 0; i < BUDGETS; i++)
        all->budgets[i] = budgets[i];
    for (unsigned i = 0; !why && i < count && all->count < GPUS; i++) {
        struct gpu *gpu = &all->gpus[all->count];
        struct nvml_pci pci = {0};
        snprintf(shared->device, sizeof shared->device, "index %u", i);
        *gpu = (struct gpu){.field_count = -1, .least_unknown = UINT64_MAX};
        if (all->nvml.handle(i, &gpu->device) == NVML_SUCCESS &&
            all->nvml.pci(gpu->device, &pci) == NVML_SUCCESS)
            for (size_t k = 0; k + 1 < sizeof gpu->bus && pci.bus_id[k]; k++)
                gpu->bus[k] = (char)tolower((unsigned char)pci.bus_id[k]);
        else
            snprintf(gpu->bus, sizeof gpu->bus, "index %u", i);
        all->count++;
        tell_gpu(all, gpu, writer);
    }
    if (!why && all->count == 0)
        why = "no GPU";
    if (why)
        tell_absent(writer, why);
    return !why;
}

/* One that did not even tell its address is not asked again. */
static int is_known(const struct gpu *gpu)
{
    return strncmp(gpu->bus, "index", strlen("index")) != 0;
}

/* -------------------- glances -------------------- */

/* The figures that change within an interval. */
static void glance_at(const struct nvml *nvml, struct gpu *gpu)
{
    unsigned long long bits;
    unsigned mhz;
    if (nvml->clock && nvml->clock(gpu->device, NVML_CLOCK_SM, &mhz) == NVML_SUCCESS) {
        gpu->clock_glances++;
        gpu->clock_sum += mhz;
    }
    if (!nvml->reasons || nvml->reasons(gpu->device, &bits) != NVML_SUCCESS)
        return;
    gpu->glances++;
    for (int i = 0; i < REASONS; i++)
        gpu->reason_glances[i] += (bits & reasons[i].bit) != 0;
}

static void put_glances(struct gpu *gpu, struct node_writer *writer)
{
    if (gpu->clock_glances)
        node_put(writer, &gpu->sm_clock, KIND_GPU, gpu->bus, SERIES_SM_CLOCK,
                 gpu->clock_sum / gpu->clock_glances);
    for (int i = 0; gpu->glances && i < REASONS; i++)
        node_put(writer, &gpu->reasons[i], KIND_GPU, gpu->bus, reasons[i].metric,
                 (double)gpu->reason_glances[i] / gpu->glances);
    gpu->glances = gpu->clock_glances = 0;
    gpu->clock_sum = 0;
    memset(gpu->reason_glances, 0, sizeof gpu->reason_glances);
}

/* -------------------- samples -------------------- */

static void check_lost(struct gpu *gpu, struct node_writer *writer, int outcome)
{
    char json[96];
    int is_lost = outcome == NVML_GPU_IS_LOST || outcome == NVML_RESET_REQUIRED;
    if (is_lost && !gpu->is_lost) {
        snprintf(json, sizeof json, "{\"device\":\"%s\",\"nvml_error\":%d}", gpu->bus, outcome);
        node_line_alone(writer, writer->now_ns, "gpu_lost", json);
    }
    gpu->is_lost = is_lost;
}

static void sample_ecc(const struct nvml *nvml, struct gpu *gpu, struct node_writer *writer)
{
    static const enum node_metric_id metrics[2] = {
        [NVML_CORRECTED] = SERIES_ECC_CORRECTED, [NVML_UNCORRECTED] = SERIES_ECC_UNCORRECTED};
    unsigned long long count;
    for (int type = NVML_CORRECTED; nvml->ecc && type <= NVML_UNCORRECTED; type++)
        if (nvml->ecc(gpu->device, type, NVML_VOLATILE, &count) == NVML_SUCCESS)
            node_count(writer, &gpu->ecc[type], KIND_GPU, gpu->bus, metrics[type], count);
}

static void sample_gpu(const struct nvml *nvml, struct gpu *gpu, struct node_writer *writer)
{
    struct nvml_use use;
    unsigned number;
    int outcome = nvml->use ? nvml->use(gpu->device, &use) : -1;
    check_lost(gpu, writer, outcome);
    if (outcome == NVML_SUCCESS)
        node_put(writer, &gpu->use, KIND_GPU, gpu->bus, SERIES_GPU_UTILIZATION, use.gpu / 100.0);
    glance_at(nvml, gpu);
    put_glances(gpu, writer);
    if (nvml->power && nvml->power(gpu->device, &number) == NVML_SUCCESS)
        node_put(writer, &gpu->power, KIND_GPU, gpu->bus, SERIES_POWER, number / 1000.0);
    if (nvml->clock && nvml->clock(gpu->device, NVML_CLOCK_MEMORY, &number) == NVML_SUCCESS)
        node_put(writer, &gpu->memory_clock, KIND_GPU, gpu->bus, SERIES_MEMORY_CLOCK, number);
    if (nvml->temperature && nvml->temperature(gpu->device, NVML_TEMPERATURE_GPU, &number) == NVML_SUCCESS)
        node_put(writer, &gpu->temperature, KIND_GPU, gpu->bus, SERIES_TEMPERATURE, number);
    if (nvml->generation && nvml->generation(gpu->device, &number) == NVML_SUCCESS)
        node_put(writer, &gpu->generation, KIND_GPU, gpu->bus, SERIES_PCIE_GENERATION, number);
    sample_ecc(nvml, gpu, writer);
}

/* -------------------- dear calls -------------------- */

static uint64_t field_value(const struct nvml_field *field)
{
    enum nvml_type { REAL, NATURAL, NATURAL_LONG, NATURAL_64, INTEGER_64, INTEGER, NATURAL_16 };
    switch ((enum nvml_type)field->type) {
    case REAL:
        return field->value.real > 0 ? (uint64_t)field->value.real : 0;
    case NATURAL:
        return field->value.natural;
    case NATURAL_LONG:
        return field->value.natural_long;
    case NATURAL_64:
        return field->value.natural_64;
    case INTEGER_64:
        return field->value.integer_64 > 0 ? (uint64_t)field->value.integer_64 : 0;
    case INTEGER:
        return field->value.integer > 0 ? (uint64_t)field->value.integer : 0;
    case NATURAL_16:
        return field->value.natural_16;
    }
    return 0;
}

static void ask_pcie(struct gpus *all, struct gpu *gpu, struct node_writer *writer)
{
    const struct nvml *nvml = &all->nvml;
    unsigned number;
    if (nvml->replays && nvml->replays(gpu->device, &number) == NVML_SUCCESS)
        node_count(writer, &gpu->replays, KIND_GPU, gpu->bus, SERIES_PCIE_REPLAYS, number);
    if (nvml->width && nvml->width(gpu->device, &number) == NVML_SUCCESS)
        node_put(writer, &gpu->width, KIND_GPU, gpu->bus, SERIES_PCIE_WIDTH, number);
}

static void ask_rows(struct gpus *all, struct gpu *gpu, struct node_writer *writer)
{
    const struct nvml *nvml = &all->nvml;
    struct nvml_field rows[2] = {{.field = FIELD_REMAPPED_CORRECTED, .outcome = -1},
                                 {.field = FIELD_REMAPPED_UNCORRECTED, .outcome = -1}};
    if (nvml->fields && nvml->fields(gpu->device, 2, rows) == NVML_SUCCESS &&
        rows[0].outcome == NVML_SUCCESS && rows[1].outcome == NVML_SUCCESS)
        node_count(writer, &gpu->rows, KIND_GPU, gpu->bus, SERIES_REMAPPED_ROWS,
                   field_value(&rows[0]) + field_value(&rows[1]));
}

/* Finds out which of the fields and links the driver has: a sum is preferred to the links that it sums. */
static void choose_link_fields(const struct nvml *nvml, struct gpu *gpu)
{
    int has_total[LINK_METRICS] = {0};
    gpu->field_count = 0;
    for (int i = 0; i < LINK_FIELDS; i++) {
        int metric = link_fields[i].metric;
        for (unsigned link = 0; link < (link_fields[i].is_total ? 1 : LINKS); link++) {
            struct nvml_field field = {.field = link_fields[i].field, .scope = link, .outcome = -1};
            if (!link_fields[i].is_total && has_total[metric])
                break;
            if (nvml->fields(gpu->device, 1, &field) != NVML_SUCCESS || field.outcome != NVML_SUCCESS)
                break;
            has_total[metric] |= link_fields[i].is_total;
            gpu->field_metric[gpu->field_count] = metric;
            gpu->fields[gpu->field_count++] = field;
        }
    }
}

static void ask_links(struct gpus *all, struct gpu *gpu, struct node_writer *writer)
{
    const struct nvml *nvml = &all->nvml;
    uint64_t sums[LINK_METRICS] = {0};
    int is_known[LINK_METRICS] = {0};
    if (!nvml->fields)
        return;
    if (gpu->field_count < 0)
        choose_link_fields(nvml, gpu);
    if (gpu->field_count == 0 || nvml->fields(gpu->device, gpu->field_count, gpu->fields) != NVML_SUCCESS)
        return;
    for (int i = 0; i < gpu->field_count; i++) {
        if (gpu->fields[i].outcome != NVML_SUCCESS)
            return;
        sums[gpu->field_metric[i]] += field_value(&gpu->fields[i]);
        is_known[gpu->field_metric[i]] = 1;
    }
    for (int i = 0; i < LINK_METRICS; i++)
        if (is_known[i])
            node_count(writer, &gpu->links[i], KIND_GPU, gpu->bus, link_metrics[i], sums[i]);
}

static const struct {
    void (*ask)(struct gpus *all, struct gpu *gpu, struct node_writer *writer);
    int budget;
    int rounds;       /* intervals between calls */
    int64_t least_ns; /* and at least this time */
} dear_calls[DEAR_CALLS] = {
    [DEAR_SHARES] = {gpu_ask_shares, BUDGET_SHARES, 1, 400000000},
    [DEAR_PCIE] = {ask_pcie, BUDGET_OTHERS, 10, 0},
    [DEAR_LINKS] = {ask_links, BUDGET_OTHERS, 30, 0},
    [DEAR_ROWS] = {ask_rows, BUDGET_OTHERS, 60, 0},
};

/* The call of this budget that is due for the longest time; NULL: none. */
static struct gpu *find_due(struct gpus *all, int budget, int64_t now_ns, enum dear_call *call)
{
    struct gpu *found = NULL;
    for (unsigned i = 0; i < all->count; i++)
        for (int k = 0; k < DEAR_CALLS; k++) {
            struct gpu *gpu = &all->gpus[i];
            if (dear_calls[k].budget != budget || gpu->due_ns[k] > now_ns || !is_known(gpu) ||
                (k == DEAR_SHARES && !gpu_is_shared(gpu)) ||
                (found && found->due_ns[*call] <= gpu->due_ns[k]))
                continue;
            found = gpu;
            *call = (enum dear_call)k;
        }
    return found;
}

/*
 * Makes one call of each budget, if one is due. Where the user wants samples of short times, shares are worth
 * what they cost: without them the cause of a short fault is not found.
 */
static void ask_dear(struct gpus *all, struct node_round *round)
{
    for (int i = 0; i < BUDGETS; i++) {
        enum dear_call call = DEAR_CALLS;
        struct gpu *gpu = find_due(all, i, round->now_ns, &call);
        int is_free = round->is_fixed && i == BUDGET_SHARES;
        if (!gpu || (!is_free && !node_budget_allows(&all->budgets[i], round->now_ns)))
            continue;
        int64_t before_ns = node_own_cpu_ns(), wait_ns = dear_calls[call].rounds * round->interval_ns;
        snprintf(round->shared->device, sizeof round->shared->device, "%s", gpu->bus);
        node_line_begin(round->writer, gpu->asked_ns[call] ? gpu->asked_ns[call] : round->since_ns,
                        round->now_ns);
        dear_calls[call].ask(all, gpu, round->writer);
        node_line_finish(round->writer, 0);
        gpu->asked_ns[call] = round->now_ns;
        gpu->due_ns[call] =
            round->now_ns + (wait_ns > dear_calls[call].least_ns ? wait_ns : dear_calls[call].least_ns);
        int64_t used_ns = node_own_cpu_ns() - before_ns;
        node_budget_spend(&all->budgets[i], used_ns);
        round->budgeted_ns += used_ns;
    }
}

/* -------------------- the worker -------------------- */

static void gpu_sample(void *state, struct node_round *round)
{
    struct gpus *all = state;
    node_line_begin(round->writer, round->since_ns, round->now_ns);
    for (unsigned i = 0; i < all->count; i++) {
        struct gpu *gpu = &all->gpus[i];
        if (!is_known(gpu))
            continue;
        snprintf(round->shared->device, sizeof round->shared->device, "%s", gpu->bus);
        sample_gpu(&all->nvml, gpu, round->writer);
        gpu_list_processes(all, gpu, round);
    }
    node_line_finish(round->writer, 0);
    ask_dear(all, round);
}

static void gpu_glance(void *state, struct node_round *round)
{
    struct gpus *all = state;
    for (unsigned i = 0; i < all->count; i++) {
        struct gpu *gpu = &all->gpus[i];
        if (!is_known(gpu))
            continue;
        snprintf(round->shared->device, sizeof round->shared->device, "%s", gpu->bus);
        glance_at(&all->nvml, gpu);
    }
    ask_dear(all, round);
}

/* Where the driver is not kept loaded, it takes seconds for each GPU to start. */
const struct node_work node_work_gpu = {
    .name = "nvml",
    .prefix = "g",
    .patience_ns = 60000000000,
    .open = gpu_open,
    .sample = gpu_sample,
    .glance = gpu_glance,
    .state_bytes = sizeof(struct gpus),
};

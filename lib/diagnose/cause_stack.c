/*
 * What the stacks of Python processes say about a rank at fault: where its main thread stood while the job
 * stood still or was slow. It says nothing about one rank if the others stood at the same place.
 */
#include "base/base.h"
#include "diagnose/finding.h"
#include "job/job.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * A job that hangs stands still until a timeout ends it: after 30 minutes at the latest with the defaults of
 * torch.distributed, which the stacks of a program that goes on or starts again come after.
 */
#define STILL_HANGS_NS (INT64_C(1800) * 1000000000)

enum doing {
    DOING_UNKNOWN,
    DOING_WAIT,       /* for something else in the program, which frames farther out may name */
    DOING_COLLECTIVE, /* it made a call, as ranks do that are not at fault */
    DOING_BY_ITSELF
};

/* Places that say what a program does. `file` is a path or the end of one, or a folder in it. */
static const struct known_place {
    const char *file;
    const char *function; /* how its name begins; NULL: any */
    enum doing doing;
    const char *words; /* "rank 3 was ..." */
} known_places[] = {
    {"torch/utils/data/", NULL, DOING_BY_ITSELF, "loading data, "},
    {"torchdata/", NULL, DOING_BY_ITSELF, "loading data, "},
    {"datasets/", NULL, DOING_BY_ITSELF, "loading data, "},
    {"webdataset/", NULL, DOING_BY_ITSELF, "loading data, "},
    {"nvidia/dali/", NULL, DOING_BY_ITSELF, "loading data, "},
    {"torch/serialization.py", NULL, DOING_BY_ITSELF, "reading or writing a checkpoint, "},
    {"torch/distributed/checkpoint/", NULL, DOING_BY_ITSELF, "reading or writing a checkpoint, "},
    {"dist_checkpointing/", NULL, DOING_BY_ITSELF, "reading or writing a checkpoint, "},
    {"safetensors/", NULL, DOING_BY_ITSELF, "reading or writing a checkpoint, "},
    /* Other files of _dynamo and _inductor also run what was compiled before. */
    {"torch/_dynamo/convert_frame.py", NULL, DOING_BY_ITSELF, "compiling code, "},
    {"torch/_inductor/async_compile.py", NULL, DOING_BY_ITSELF, "compiling code, "},
    {"torch/utils/cpp_extension.py", NULL, DOING_BY_ITSELF, "compiling code, "},
    {"triton/compiler/", NULL, DOING_BY_ITSELF, "compiling code, "},
    {"bdb.py", NULL, DOING_BY_ITSELF, "in a debugger, "},
    {"pdb.py", NULL, DOING_BY_ITSELF, "in a debugger, "},
    /* With native frames (py-spy dump --native). */
    {"", "gc_collect", DOING_BY_ITSELF, "collecting garbage, "},
    {"", "time_sleep", DOING_BY_ITSELF, "sleeping, "},
    {"", "pysleep", DOING_BY_ITSELF, "sleeping, "},
    {"torch/distributed/distributed_c10d.py", NULL, DOING_COLLECTIVE, ""},
    {"torch/distributed/_functional_collectives.py", NULL, DOING_COLLECTIVE, ""},
    {"threading.py", "wait", DOING_WAIT, "waiting for a lock or another thread, "},
    {"threading.py", "acquire", DOING_WAIT, "waiting for a lock or another thread, "},
    {"threading.py", "join", DOING_WAIT, "waiting for a lock or another thread, "},
    {"queue.py", NULL, DOING_WAIT, "waiting for a queue, "},
    {"multiprocessing/", NULL, DOING_WAIT, "waiting for another process, "},
    {"subprocess.py", NULL, DOING_WAIT, "waiting for another program, "},
};

/* What stands between the program and what it does. Files that are not Python's belong to it, too. */
static const char *const plumbing[] = {
    "torch/",     "abc.py",       "asyncio/",   "codecs.py",    "concurrent/", "contextlib.py",
    "copy.py",    "functools.py", "importlib/", "json/",        "logging/",    "os.py",
    "pathlib.py", "pickle.py",    "runpy.py",   "selectors.py", "shutil.py",   "socket.py",
    "ssl.py",     "tempfile.py",  "typing.py",  "<frozen ",     NULL,
};

/* "get (queue.py:171)" */
struct frame {
    const char *text;
    size_t length;
    const char *file;
    size_t file_length;
};

/* What a stack says. */
struct reading {
    const struct known_place *does; /* NULL: not known */
    struct frame known;             /* its frame; text NULL */
    struct frame own;               /* the innermost frame of the program itself; text NULL */
    int is_known_inside;            /* it called the other */
};

/* -------------------- frames -------------------- */

/* Takes the next frame from "MainThread idle: get (queue.py:171) < main (train.py:7)". */
static int next_frame(const char **rest, struct frame *frame)
{
    const char *end = *rest ? strstr(*rest, " < ") : NULL;
    if (!*rest || !**rest)
        return 0;
    *frame = (struct frame){.text = *rest, .length = end ? (size_t)(end - *rest) : strlen(*rest)};
    *rest = end ? end + strlen(" < ") : NULL;
    const char *open = memrchr(frame->text, '(', frame->length);
    if (open) {
        frame->file = open + 1;
        frame->file_length = frame->length - (size_t)(open + 1 - frame->text);
        const char *close = memrchr(frame->file, ')', frame->file_length);
        frame->file_length = close ? (size_t)(close - frame->file) : frame->file_length;
        const char *line = memrchr(frame->file, ':', frame->file_length);
        frame->file_length = line ? (size_t)(line - frame->file) : frame->file_length;
    }
    return 1;
}

/* Whether a path is the file or below the folder, wherever that is installed. */
static int is_in(const struct frame *frame, const char *name)
{
    size_t length = strlen(name);
    if (!length || !frame->file)
        return !length;
    int is_folder = name[length - 1] == '/', is_open = name[0] == '<';
    for (size_t at = 0; at + length <= frame->file_length; at++)
        if ((at == 0 || frame->file[at - 1] == '/') && memcmp(frame->file + at, name, length) == 0 &&
            (is_folder || is_open || at + length == frame->file_length))
            return 1;
    return 0;
}

static const struct known_place *place_of(const struct frame *frame)
{
    for (size_t i = 0; i < sizeof known_places / sizeof *known_places; i++) {
        const struct known_place *place = &known_places[i];
        size_t named = place->function ? strlen(place->function) : 0;
        if (is_in(frame, place->file) && named <= frame->length &&
            (!named || memcmp(frame->text, place->function, named) == 0))
            return place;
    }
    return NULL;
}

static int is_plumbing(const struct frame *frame)
{
    for (const char *const *name = plumbing; *name; name++)
        if (is_in(frame, *name))
            return 1;
    return !(frame->file && frame->file_length > 3 &&
             memcmp(frame->file + frame->file_length - 3, ".py", 3) == 0) &&
           !(frame->file_length && frame->file[0] == '<');
}

/* What a program waits for is said by the frame that is farther out and known, if there is one. */
static struct reading read_stack(const char *text)
{
    struct reading reading = {.does = NULL};
    struct frame frame;
    const char *begin = text ? strstr(text, ": ") : NULL, *rest = begin ? begin + 2 : NULL;
    while (next_frame(&rest, &frame)) {
        const struct known_place *place = place_of(&frame);
        if (place && (!reading.does || (reading.does->doing == DOING_WAIT && place->doing != DOING_WAIT))) {
            reading.does = place;
            reading.known = frame;
            reading.is_known_inside = !reading.own.text;
        }
        if (!place && !reading.own.text && !is_plumbing(&frame))
            reading.own = frame;
    }
    return reading;
}

static int same_frame(const struct frame *one, const struct frame *other)
{
    return one->text && other->text && one->length == other->length &&
           memcmp(one->text, other->text, one->length) == 0;
}

/* Whether two ranks do the same; of what is not known, or a collective, at the same line of the program. */
static int is_same(const struct reading *one, const struct reading *other)
{
    if (one->does && one->does->doing == DOING_BY_ITSELF)
        return other->does && strcmp(one->does->words, other->does->words) == 0;
    return one->own.text ? same_frame(&one->own, &other->own) : same_frame(&one->known, &other->known);
}

/* -------------------- stacks -------------------- */

/* The stack of the main thread of a rank. */
struct cause_stack {
    int32_t rank;
    size_t host;
    int64_t at_ns;
    char *text;   /* owned, as are all */
    char *device; /* "4711" */
    char *file;
};

void cause_stacks_release(struct cause_stacks *stacks)
{
    for (size_t i = 0; i < stacks->count; i++) {
        free(stacks->items[i].text);
        free(stacks->items[i].device);
        free(stacks->items[i].file);
    }
    free(stacks->items);
    *stacks = (struct cause_stacks){.items = NULL};
}

/* Whether what stood then stood there because of the fault, or made it. */
static int is_in_time(const struct fault_time *time, const struct node_event *said)
{
    if (said->at_ns == TIME_UNKNOWN || !fault_time_is_exact(time, said->error_ns))
        return 0;
    if (time->is_stop)
        return said->at_ns >= time->first_ns - said->error_ns &&
               said->at_ns <= time->first_ns + STILL_HANGS_NS;
    struct interval_ns moment = {said->at_ns, said->at_ns + 1};
    return intervals_covered_ns(time->faulty, time->faulty_count, moment) > 0;
}

int cause_stacks_add(struct cause_stacks *stacks, const struct cause_places *places,
                     const struct fault_time *time, size_t host, const struct node_message *message)
{
    const struct node_event *said = &message->said;
    int32_t rank = said->device ? cause_rank_of_process(places, host, said->device) : -1;
    if (rank < 0 || !said->text || !is_in_time(time, said))
        return 0;
    if (array_reserve((void **)&stacks->items, &stacks->capacity, stacks->count + 1, sizeof *stacks->items))
        return -1;
    struct cause_stack *stack = &stacks->items[stacks->count++];
    *stack = (struct cause_stack){.rank = rank,
                                  .host = host,
                                  .at_ns = said->at_ns,
                                  .text = strdup(said->text),
                                  .device = strdup(said->device),
                                  .file = message->file ? strdup(message->file) : NULL};
    return stack->text && stack->device && (stack->file || !message->file) ? 0 : -1;
}

/* The stack of another rank that is nearest in time; NULL. */
static const struct cause_stack *nearest_of(const struct cause_stacks *stacks, int32_t rank, int64_t at_ns)
{
    const struct cause_stack *nearest = NULL;
    for (size_t i = 0; i < stacks->count; i++) {
        const struct cause_stack *stack = &stacks->items[i];
        if (stack->rank == rank && (!nearest || llabs(stack->at_ns - at_ns) < llabs(nearest->at_ns - at_ns)))
            nearest = stack;
    }
    return nearest;
}

/*
 * Whether a stack says something about its rank: what others do, too, or what only one moment of a slow step
 * shows and is not known to take long, says nothing.
 */
static int is_telling(const struct cause_stacks *stacks, const struct cause_places *places,
                      const struct fault_time *time, const struct cause_stack *stack,
                      const struct reading *reading)
{
    size_t others = 0, same = 0;
    for (int32_t rank = 0; rank < (int32_t)places->job->rank_count; rank++) {
        const struct cause_stack *other =
            places->is_accused[rank] ? NULL : nearest_of(stacks, rank, stack->at_ns);
        if (!other)
            continue;
        struct reading of_other = read_stack(other->text);
        others++;
        same += (size_t)is_same(reading, &of_other);
    }
    int is_by_itself = reading->does && reading->does->doing != DOING_COLLECTIVE;
    int needs_others = !time->is_stop || (reading->does && !is_by_itself);
    return (reading->does || reading->own.text) && (time->is_stop || is_by_itself) &&
           (others || !needs_others) && (!others || 2 * same < others);
}

/* "loading data, in __next__ (torch/utils/data/dataloader.py:630), called from train (train.py:88)" */
static int append_reading(const struct reading *reading, struct buffer *text)
{
    const struct frame *inner = &reading->own, *outer = &reading->known;
    if (!reading->own.text || (reading->known.text && reading->is_known_inside)) {
        inner = &reading->known;
        outer = &reading->own;
    }
    return (reading->does && buffer_append_text(text, reading->does->words)) ||
           buffer_append_text(text, "in ") || buffer_append(text, inner->text, inner->length) ||
           (outer->text &&
            (buffer_append_text(text, ", called from ") || buffer_append(text, outer->text, outer->length)));
}

/* Fills in a cause. Returns -1 when memory runs out. */
static int take_stack(const struct cause_stack *stack, const struct reading *reading, const char *host,
                      struct cause *cause)
{
    struct buffer text = BUFFER_INIT;
    cause->at_host = stack->host;
    cause->place = NODE_PROCESS;
    cause->begin_ns = stack->at_ns;
    cause->value = cause->usual = (double)NAN;
    cause->strength = 1;
    int failed = append_reading(reading, &text);
    cause->text = text.data;
    cause->device = strdup(stack->device);
    cause->source = stack->file ? strdup(stack->file) : NULL;
    cause->host = host ? strdup(host) : NULL;
    return failed || !cause->device || (stack->file && !cause->source) || (host && !cause->host) ? -1 : 0;
}

int cause_stacks_find(const struct cause_stacks *stacks, const struct cause_places *places,
                      const struct fault_time *time, struct cause *cause)
{
    const struct cause_stack *first = NULL;
    struct reading of_first;
    for (size_t i = 0; i < stacks->count; i++) {
        const struct cause_stack *stack = &stacks->items[i];
        struct reading reading = read_stack(stack->text);
        if (places->is_accused[stack->rank] != 1 || (first && first->at_ns <= stack->at_ns) ||
            !is_telling(stacks, places, time, stack, &reading))
            continue;
        first = stack;
        of_first = reading;
    }
    if (!first)
        return 0;
    return take_stack(first, &of_first, places->hosts.items[first->host].name, cause) ? -1 : 1;
}

/*
 * Arbitrary bytes as a trace: unpacked, split into lines and objects, its format detected, read. The events
 * of a reader must keep the promises of the model, and packing them must be reversible.
 */
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "ingest/internal.h"
#include "input/input.h"
#include "model/model.h"
#include "require.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void check_steps(const struct proxy_operation *proxy)
{
    struct buffer blob = BUFFER_INIT;
    struct unpack unpack;
    struct proxy_step step;
    require(pack_steps(&blob, 1000, proxy->steps, proxy->steps_recorded) == 0, "packing of steps");
    require(unpack_steps(&unpack, blob.data, blob.length, 1000) == 0, "unpacking of steps");
    for (size_t i = 0; i < proxy->steps_recorded; i++) {
        require(unpack_next_step(&unpack, &step) == 1, "as many steps");
        require(memcmp(&step, &proxy->steps[i], sizeof step) == 0, "the same steps");
    }
    buffer_release(&blob);
}

static int take_event(void *context, const struct event *event, struct error *error)
{
    int64_t *operations = context;
    if (event->kind == EVENT_OPERATION) {
        require(event->operation.ordinal >= 0, "an ordinal");
        require(event->operation.tag == NULL || strlen(event->operation.tag) < INT32_MAX, "a tag is a text");
        ++*operations;
    }
    if (event->kind == EVENT_PROXY) {
        require(event->proxy.steps_recorded <= FORMAT_STEPS_AT_ONCE, "steps at once");
        check_steps(&event->proxy);
    }
    if (event->kind == EVENT_TAG)
        require((event->tag.text == NULL) == (event->tag.is_end != 0), "a tag has a text or ends");
    if (event->kind == EVENT_COMMUNICATOR)
        require(event->communicator.members != NULL || event->communicator.member_count == 0, "members");
    if (event->kind == EVENT_PROCESS)
        require(event->process.global_rank >= COUNT_UNKNOWN && event->process.gpu >= COUNT_UNKNOWN,
                "numbers");
    if (event->kind == EVENT_TAG_NAME)
        require(event->tag_name.text != NULL && event->tag_name.number != 0, "a name is of a number");
    return 0;
}

static int take_note(void *context, const char *reason, int damage, uint64_t offset, const char *detail,
                     size_t detail_length, struct error *error)
{
    unsigned sum = 0;
    require(reason != NULL, "a reason");
    for (size_t i = 0; detail && i < detail_length; i++)
        sum += (unsigned char)detail[i];
    return sum == UINT32_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    const struct input_limits limits = {.unpacked_bytes = 1 << 22, .unpack_ratio = 1000};
    struct error error = ERROR_INIT;
    int64_t operations = 0;
    const struct format_sink sink = {&operations, take_event, take_note};
    char dialect[64];
    char path[64];
    char digest[33];
    int file = memfd_create("dump_5_0.json", 0);
    require(file >= 0 && write(file, bytes, length) == (ssize_t)length, "memory for the input");
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    struct input *input = input_open(path, &limits, &error);
    require(input != NULL, "an open file");
    const struct format *format = format_detect(input, &error);
    if (format) {
        ingest_read(format, input, path, NULL, NULL, &sink, dialect, sizeof dialect, &error);
        require(strlen(dialect) < sizeof dialect, "a dialect");
    }
    input_digest(input, digest);
    input_close(input);
    close(file);
    return 0;
}

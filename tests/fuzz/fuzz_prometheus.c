/*
 * Arbitrary bytes as a line of Prometheus text, and as labels: the results are inside the line, and their
 * texts are terminated.
 */
#include "base/base.h"
#include "format/internal.h"
#include "model/model.h"
#include "require.h"

#include <stdlib.h>
#include <string.h>

static void check_text(const struct buffer *texts, const char *text)
{
    if (!text)
        return;
    require(text >= texts->data && text + strlen(text) < texts->data + texts->length, "a text that ends");
}

static void check_labels(struct text labels)
{
    struct buffer texts = BUFFER_INIT;
    struct metric_sample sample;
    if (sample_labels_read(labels, &texts, &sample) == 0) {
        require(sample.function > FUNCTION_UNKNOWN && sample.function < FUNCTION_COUNT, "a function");
        require(sample.algorithm < ALGORITHM_COUNT && sample.protocol < PROTOCOL_COUNT, "words");
        require(sample.least_bytes >= COUNT_UNKNOWN && sample.rank_count >= COUNT_UNKNOWN, "counts");
        check_text(&texts, sample.job);
        check_text(&texts, sample.node);
        check_text(&texts, sample.gpu);
        check_text(&texts, sample.communicator);
        check_text(&texts, sample.message_size);
        check_text(&texts, sample.tag);
    }
    buffer_release(&texts);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    char *text = malloc(length + 1); /* no NUL after it on which a reader could rely */
    struct sample_line said;
    require(text != NULL, "memory");
    if (length)
        memcpy(text, bytes, length);
    struct text line = {text, length};
    if (sample_line_read(line, &said) == 1) {
        require(said.metric.length > 0 && said.metric.data >= text, "a name");
        require(!said.labels.length || (said.labels.data > said.metric.data &&
                                        said.labels.data + said.labels.length < text + length),
                "labels in the line");
        check_labels(said.labels);
    }
    check_labels(line);
    free(text);
    return 0;
}

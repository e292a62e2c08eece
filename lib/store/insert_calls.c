#include "store/insert_calls.h"

void insert_bind_call(struct binder *binder, const struct insert_target *target, size_t at)
{
    const struct batch_call *row = &binder->batch->calls.items[at];
    bind_integer(binder, record_id(target, row->ordinal));
    bind_known(binder, row->process < 0 ? -1 : target->processes[row->process], -1);
    bind_integer(binder, row->call.rank);
    bind_text(binder, row->name);
    bind_text(binder, row->source);
    bind_count(binder, row->call.message_bytes);
    bind_count(binder, row->call.device);
    bind_time(binder, row->call.said_ns);
    bind_text(binder, row->gpu_serial);
    bind_text(binder, row->vm);
    bind_text(binder, row->group);
    bind_count(binder, row->call.peer);
    bind_count(binder, row->call.root);
    bind_text(binder, row->correlation);
    bind_time(binder, row->call.at_ns);
    bind_integer(binder, (int64_t)row->offset);
}

void insert_bind_sample(struct binder *binder, const struct insert_target *target, size_t at)
{
    const struct batch_sample *row = &binder->batch->samples.items[at];
    const struct metric_sample *sample = &row->sample;
    bind_integer(binder, record_id(target, row->ordinal));
    bind_time(binder, sample->at_ns);
    bind_text(binder, row->job);
    bind_text(binder, row->node);
    bind_text(binder, row->gpu);
    bind_text(binder, row->communicator);
    bind_count(binder, sample->node_count);
    bind_count(binder, sample->rank_count);
    bind_count(binder, sample->rank);
    bind_integer(binder, (int)sample->function);
    bind_text(binder, row->message_size);
    bind_count(binder, sample->least_bytes);
    bind_integer(binder, (int)sample->algorithm);
    bind_integer(binder, (int)sample->protocol);
    bind_positive(binder, sample->busbw_gbs);
    bind_count(binder, sample->duration_ns);
    bind_text(binder, row->tag);
    bind_count(binder, sample->sequence);
    bind_integer(binder, (int64_t)row->offset);
}

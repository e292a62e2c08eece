#ifndef NCCLPROF_STORE_BATCH_PACK_H
#define NCCLPROF_STORE_BATCH_PACK_H

#include "store/batch.h"

/*
 * Packs the batch's operations into blocks; there are none left afterwards. To be done before the batch is
 * written. On -1 (memory) the batch is only fit for release.
 */
int batch_pack(struct batch_builder *builder, struct batch *batch, struct error *error);

#endif

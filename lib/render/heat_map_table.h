#ifndef NCCLPROF_RENDER_HEAT_MAP_TABLE_H
#define NCCLPROF_RENDER_HEAT_MAP_TABLE_H

#include "base/error.h"
#include "model/table.h"
#include "render/heat_map.h"

/*
 * Maps of a table with a row for each rank and step: columns rank, process, step, host, run, longer_us,
 * duration_us, finding and `values`, names of columns, of each of which a map is made. It has at most
 * `most_rows` rows: heat_map_fold_rows. Rows that the table lacks are not known; the table has to live as
 * long. -1 with an error; release it in any case.
 */
int heat_maps_init(struct heat_maps *maps, const struct table *table, const char *const *values,
                   size_t value_count, size_t most_rows, struct error *error);

#endif

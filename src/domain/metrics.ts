// Which fields of a metric go together: the same for a request and for an entry of service.yaml.

import { refuseField } from "../errors.ts";
import { FIELD_REQUIRED, type MetricCreate, WEIGHTS } from "../schema/metrics.ts";

type Measure = Pick<MetricCreate, "aggregation_type" | "field_name" | "dimensions" | "weighted_by">;

/** `at` is where the metric stands, such as `metrics[0].`; "" for one that is the request. */
export function checkMeasure(
  { aggregation_type, field_name, dimensions = [], weighted_by }: Measure,
  at: string,
): void {
  if (FIELD_REQUIRED.includes(aggregation_type) && !field_name) {
    const field = `${at}field_name`;
    throw refuseField(field, "required", `${field} is required for ${aggregation_type}.`);
  }
  const isWeighted = aggregation_type === "weighted_sum";
  if (isWeighted && !weighted_by) {
    const field = `${at}weighted_by`;
    const message = `${field} is required for weighted_sum: ${WEIGHTS.join(" or ")}.`;
    throw refuseField(field, "required", message);
  }
  if (!isWeighted && weighted_by) {
    const field = `${at}weighted_by`;
    throw refuseField(field, "unsupported", `${field} goes with weighted_sum only.`);
  }
  if (aggregation_type === "count_unique" && dimensions.length > 0) {
    const field = `${at}dimensions`;
    const message = `${field} do not go with count_unique: a value of two combinations would count twice.`;
    throw refuseField(field, "unsupported", message);
  }
  const own = dimensions.indexOf(field_name ?? "");
  if (own !== -1) {
    const field = `${at}dimensions[${own}]`;
    throw refuseField(field, "unsupported", `${field} must not be the field_name.`);
  }
}

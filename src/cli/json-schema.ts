// The JSON Schema of service.yaml, for editors: standard keywords only.

import { ServiceFile } from "../schema/service-file.ts";
import { standardSchema } from "../schema/standard-schema.ts";

export function serviceSchema(): object {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    ...standardSchema(ServiceFile),
  };
}

// The JSON Schema of service.yaml, for editors: standard keywords only.

import { ServiceFile } from "../schema/service-file.ts";

export function serviceSchema(): object {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    ...(standard(ServiceFile) as object),
  };
}

function standard(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(standard);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(
    ([key, inner]) =>
      !key.startsWith("~") && key !== "x-max-bytes" && !(key === "format" && inner === "currency"),
  );
  return Object.fromEntries(kept.map(([key, inner]) => [key, standard(inner)]));
}

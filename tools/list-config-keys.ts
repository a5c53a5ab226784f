import { z } from 'zod';
import { configSchema } from '../src/model/config.ts';

/** Maps whose names are the user's own, and what stands for one of them. */
const PLACEHOLDERS: Readonly<Record<string, string>> = { streams: '<name>', columns: '<field>' };

/** Every key of the config in the schema's order, e.g. `source.quota.reserve`, `streams.<name>.key`. */
export function listConfigKeys(
  schema: z.core.$ZodType = configSchema,
  above: readonly string[] = [],
): readonly string[] {
  const found = unwrap(schema).flatMap((inner) => {
    if (inner instanceof z.ZodRecord) {
      const placeholder = PLACEHOLDERS[above.at(-1) ?? ''];
      return placeholder === undefined ? [] : listConfigKeys(inner.valueType, [...above, placeholder]);
    }
    if (!(inner instanceof z.ZodObject)) return [];
    return Object.entries(inner.shape as Record<string, z.core.$ZodType>).flatMap(([key, child]) => [
      [...above, key].join('.'),
      ...listConfigKeys(child, [...above, key]),
    ]);
  });
  return [...new Set(found)];
}

function unwrap(schema: z.core.$ZodType): readonly z.core.$ZodType[] {
  if (schema instanceof z.ZodOptional) return unwrap(schema.unwrap());
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => unwrap(option));
  if (schema instanceof z.ZodPipe) return unwrap(schema.in);
  return [schema];
}

import { z } from 'zod';
import { configSchema } from '../model/config.ts';
import type { ConfigPath } from './config-path.ts';

/** Keys the schema knows at a path, e.g. those of one stream at `streams.x`. */
export function listKnownKeys(path: ConfigPath): readonly string[] {
  const schemas = path.reduce<readonly z.core.$ZodType[]>(
    (found, part) => found.flatMap((schema) => descend(schema, part)),
    [configSchema],
  );
  return schemas.flatMap((schema) => unwrap(schema)).flatMap((schema) => Object.keys(shapeOf(schema)));
}

/** Where the schema has a key of this name, with `*` for the name of any stream. */
export function findKeyElsewhere(name: string): readonly (readonly string[])[] {
  return listPaths(configSchema, []).filter((path) => path.at(-1) === name);
}

function listPaths(schema: z.core.$ZodType, path: readonly string[]): readonly (readonly string[])[] {
  return unwrap(schema).flatMap((inner) => {
    if (inner instanceof z.ZodRecord) return listPaths(inner.valueType, [...path, '*']);
    return Object.entries(shapeOf(inner)).flatMap(([key, child]) => [
      [...path, key],
      ...listPaths(child, [...path, key]),
    ]);
  });
}

function descend(schema: z.core.$ZodType, part: string | number): readonly z.core.$ZodType[] {
  return unwrap(schema).flatMap((inner) => {
    if (inner instanceof z.ZodRecord) return [inner.valueType];
    const shape = shapeOf(inner);
    const child = Object.hasOwn(shape, part) ? shape[part] : undefined;
    return child === undefined ? [] : [child];
  });
}

/** The maps inside a schema's optionals, unions and transforms. */
function unwrap(schema: z.core.$ZodType): readonly z.core.$ZodType[] {
  if (schema instanceof z.ZodOptional) return unwrap(schema.unwrap());
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => unwrap(option));
  if (schema instanceof z.ZodPipe) return unwrap(schema.in);
  return [schema];
}

function shapeOf(schema: z.core.$ZodType): Readonly<Record<string | number, z.core.$ZodType>> {
  return schema instanceof z.ZodObject ? schema.shape : {};
}

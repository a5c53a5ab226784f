import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ConfigError } from '../model/errors.ts';
import type { ContractSchema } from '../model/schema.ts';
import type { LoadedConfig } from './load-config.ts';

/** Where a stream's contract file lies: beside the config, so that it is committed with it. */
export function contractPath(baseDir: string, stream: string): string {
  return path.join(baseDir, 'contracts', `${stream}.schema.json`);
}

/** A stream's contract file, or undefined where there is none; throws a ConfigError for one that is no JSON Schema. */
export function readContractSchema(
  { baseDir }: Pick<LoadedConfig, 'baseDir'>,
  stream: string,
): ContractSchema | undefined {
  const file = contractPath(baseDir, stream);
  if (!existsSync(file)) return undefined;
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw refuse(file, `cannot be read: ${(error as Error).message}`, error);
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw refuse(file, 'must hold a JSON Schema, which is an object');
  return { path: file, json: json as ContractSchema['json'] };
}

function refuse(file: string, problem: string, cause?: unknown): ConfigError {
  return new ConfigError(`contract file ${file} ${problem}`, {
    code: 'config_invalid',
    hint: 'Mend the file, or write it again with `sluice discover --write`. Nothing was requested.',
    context: { path: file },
    cause,
  });
}

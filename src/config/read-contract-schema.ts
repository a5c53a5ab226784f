import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { SchemaProblem } from '../contract/find-schema-problems.ts';
import { parseContract } from '../contract/parse-contract.ts';
import { ConfigError } from '../model/errors.ts';
import type { ContractSchema } from '../model/schema.ts';
import { escapeText } from './config-path.ts';
import type { LoadedConfig } from './load-config.ts';

/** Where a stream's contract file lies: beside the config, so that it is committed with it. */
export function contractPath(baseDir: string, stream: string): string {
  return path.join(baseDir, 'contracts', `${stream}.schema.json`);
}

/** A stream's contract file, or undefined where there is none; throws a ConfigError for one that cannot be honoured. */
export function readContractSchema(
  { baseDir }: Pick<LoadedConfig, 'baseDir'>,
  stream: string,
): ContractSchema | undefined {
  const file = contractPath(baseDir, stream);
  if (!existsSync(file)) return undefined;
  let text;
  try {
    text = readFileSync(file, 'utf8').replace(/^\ufeff/, '');
  } catch (error) {
    throw refuse(`contract file ${file} cannot be read: ${(error as Error).message}`, file, error);
  }
  const { json, problems } = parseContract(text);
  if (json === undefined) throw refuse(describeProblems(file, problems), file);
  return { path: file, json };
}

/** Every problem at once, so that one edit can mend them all. */
function describeProblems(file: string, problems: readonly SchemaProblem[]): string {
  const lines = problems.map(({ pointer, message }) =>
    // The file is the user's, its names may be anybody's.
    escapeText(pointer === '' ? message : `${pointer}: ${message}`),
  );
  const [only] = lines;
  return lines.length === 1 && only !== undefined
    ? `contract file ${file} ${problems[0]?.pointer === '' ? only : `at ${only}`}`
    : [`${lines.length} problems in contract file ${file}:`, ...lines].join('\n  ');
}

function refuse(message: string, file: string, cause?: unknown): ConfigError {
  return new ConfigError(message, {
    code: 'config_invalid',
    hint: 'Mend the file, or write it again with `sluice discover --write --force`. Nothing was requested.',
    context: { path: file },
    cause,
  });
}

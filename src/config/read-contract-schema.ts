import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import type { SchemaProblem } from '../contract/find-schema-problems.ts';
import { parseContract } from '../contract/parse-contract.ts';
import { readFileAtMost } from '../files/read-at-most.ts';
import { ConfigError } from '../model/errors.ts';
import type { ContractSchema } from '../model/schema.ts';
import { escapeText } from './config-path.ts';
import type { LoadedConfig } from './load-config.ts';
import { suggestName } from '../text/suggest-name.ts';

const SUFFIX = '.schema.json';
const MOST_BYTES = 16 * 2 ** 20;

/** The path of a stream's contract file: next to the config, so that both are committed together. */
export function contractPath(baseDir: string, stream: string): string {
  return path.join(baseDir, 'contracts', `${stream}${SUFFIX}`);
}

/** A stream's contract file, or undefined if there is none; throws a ConfigError if it is invalid. */
export function readContractSchema(
  { baseDir }: Pick<LoadedConfig, 'baseDir'>,
  stream: string,
): ContractSchema | undefined {
  const file = contractPath(baseDir, stream);
  if (!existsSync(file)) return undefined;
  const text = readContractText(file, stream).replace(/^\ufeff/, '');
  const { json, problems } = parseContract(text);
  if (json === undefined) throw refuse(describeProblems(file, problems), file, writeAgain(stream));
  return { path: file, json };
}

function readContractText(file: string, stream: string): string {
  let bytes;
  try {
    bytes = readFileAtMost(file, MOST_BYTES);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EISDIR')
      throw refuse(
        `contract file ${file} is a folder`,
        file,
        `Move the folder away; \`sluice discover ${stream} --write\` then writes the file.`,
      );
    throw refuse(
      `contract file ${file} cannot be read: ${(error as Error).message}`,
      file,
      writeAgain(stream),
      error,
    );
  }
  if (bytes === undefined)
    throw refuse(`contract file ${file} is larger than 16 MB`, file, writeAgain(stream));
  return bytes.toString();
}

function writeAgain(stream: string): string {
  return `Fix the file, or write it again with \`sluice discover ${stream} --write --force\`.`;
}

/** Warns of contract files that no stream uses: with a mistyped name, a contract is not applied. */
export function findStrayContracts(
  { baseDir }: Pick<LoadedConfig, 'baseDir'>,
  streams: readonly string[],
): readonly string[] {
  const folder = path.join(baseDir, 'contracts');
  if (!existsSync(folder)) return [];
  return listNames(folder)
    .filter((file) => file.endsWith(SUFFIX) && !streams.includes(file.slice(0, -SUFFIX.length)))
    .map((file) => {
      const name = escapeText(file.slice(0, -SUFFIX.length));
      return `contracts/${escapeText(file)} belongs to no stream and is not applied${suggestName(name, streams)}`;
    });
}

function listNames(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOTDIR') throw error;
    throw refuse(
      `${folder} is a file, and must be a folder: contract files are read from it`,
      folder,
      'Move the file away, or give it another name.',
      error,
    );
  }
}

/** Every problem at once, so that one edit can fix them all. */
function describeProblems(file: string, problems: readonly SchemaProblem[]): string {
  const lines = problems.map(({ pointer, message }) =>
    // The file is the user's, but its names may come from anywhere.
    escapeText(pointer === '' ? message : `${pointer}: ${message}`),
  );
  const [only] = lines;
  return lines.length === 1 && only !== undefined
    ? `contract file ${file} ${problems[0]?.pointer === '' ? only : `at ${only}`}`
    : [`${lines.length} problems in contract file ${file}:`, ...lines].join('\n  ');
}

function refuse(message: string, file: string, todo: string, cause?: unknown): ConfigError {
  return new ConfigError(message, {
    code: 'config_invalid',
    hint: `${todo} Nothing was requested.`,
    context: { path: file },
    cause,
  });
}

import path from 'node:path';
import { makeFolders } from '../../files/make-folders.ts';
import { readFileAtMost } from '../../files/read-at-most.ts';
import { writeNamed } from '../../files/write-named.ts';
import { contractPath } from '../../config/read-contract-schema.ts';
import { parseContract } from '../../contract/parse-contract.ts';
import { type ContractField, toJsonSchema } from '../../contract/to-json-schema.ts';
import { compareSchemas } from '../../discover/compare-schemas.ts';
import type { ContractFile, DiscoveredStream } from '../../model/discover-report.ts';
import { StorageError } from '../../model/errors.ts';
import type { JsonType } from '../../model/schema.ts';
import { uniteJsonTypes } from '../../schema/json-types.ts';

// Fewer records than this say little about the others.
const FEWEST_RECORDS = 20;

/**
 * Writes what a sample showed about a stream as its contract file, atomically. A file with different
 * content is kept unless `force`: somebody may have edited it.
 */
export async function writeContract(
  baseDir: string,
  found: DiscoveredStream,
  force: boolean,
): Promise<ContractFile> {
  const file = contractPath(baseDir, found.stream);
  const schema = toJsonSchema(found.stream, listContractFields(found));
  const before = readFile(file);
  const differences = before === undefined ? [] : listDifferences(before, schema);
  const base = { stream: found.stream, path: file, differences };
  if (before !== undefined && differences.length === 0) return { ...base, state: 'unchanged' };
  if (before !== undefined && !force) return { ...base, state: 'kept' };
  await replaceFile(file, `${JSON.stringify(schema, undefined, 2)}\n`);
  return { ...base, state: before === undefined ? 'written' : 'replaced' };
}

/** What a file says that the sample does not show, or what keeps it from being read: nothing for a file to keep. */
function listDifferences(before: string, schema: Parameters<typeof compareSchemas>[1]): readonly string[] {
  const differences = compareSchemas(parseJson(before), schema);
  if (differences.length > 0) return differences;
  return (parseContract(before).problems ?? []).map(({ pointer, message }) => `${pointer} ${message}`);
}

/** Fields as in a contract: required if every record of a large enough sample has them. */
function listContractFields({ fields, sample }: DiscoveredStream): readonly ContractField[] {
  const { records = 0, isWhole = false } = sample ?? {};
  const isEnough = records > 0 && (isWhole || records >= FEWEST_RECORDS);
  return fields.map(({ path: fieldPath, type, filled, seen }) => {
    const required = isEnough && filled === records;
    return { path: fieldPath, type, jsonTypes: toJsonTypes(seen), required, nullable: !required };
  });
}

const JSON_TYPES: Readonly<Record<string, JsonType>> = {
  boolean: 'boolean',
  integer: 'integer',
  decimal: 'number',
  array: 'array',
  object: 'object',
};

/** The JSON types of a sample's values: dates, timestamps and text are strings. */
function toJsonTypes(seen: readonly string[]): readonly JsonType[] {
  return uniteJsonTypes(
    seen.map((kind) => JSON_TYPES[kind] ?? 'string'),
    [],
  );
}

function readFile(file: string): string | undefined {
  try {
    return readFileAtMost(file, Infinity)?.toString();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw wrap(file, error);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function replaceFile(file: string, text: string): Promise<void> {
  try {
    makeFolders(path.dirname(file));
    await writeNamed(file, Buffer.from(text), { mark: String(process.pid), mode: 0o666 });
  } catch (error) {
    throw wrap(file, error);
  }
}

function wrap(file: string, error: unknown): StorageError {
  return new StorageError(`the contract file ${file} could not be written: ${(error as Error).message}`, {
    code: 'storage_failed',
    hint: 'Check the permissions and the free space of its folder, then run discover again.',
    context: { path: file },
    cause: error,
  });
}

import type { StreamConfig } from '../model/config.ts';
import { fingerprintHashKey } from '../model/hash-key.ts';
import type { ColumnRule } from '../model/schema.ts';
import type { LoadedConfig } from './load-config.ts';
import type { Problem } from './problem.ts';

/** The rules of a stream's `columns`, each with the one thing it asks for. */
export function readColumnRules(columns: StreamConfig['columns']): Readonly<Record<string, ColumnRule>> {
  return Object.fromEntries(
    Object.entries(columns ?? {}).map(([field, rule]): readonly [string, ColumnRule] => [
      field,
      rule.type === undefined
        ? { kind: rule.exclude === true ? 'exclude' : 'hash' }
        : { kind: 'type', type: rule.type },
    ]),
  );
}

/** The rules as a fingerprint needs them: a different hash key gives different values. */
export function fingerprintRules(
  rules: Readonly<Record<string, ColumnRule>>,
  hashKey: string | undefined,
): Readonly<Record<string, object>> {
  const key = hashKey === undefined ? 'unknown' : fingerprintHashKey(hashKey);
  return Object.fromEntries(
    Object.entries(rules).map(([field, rule]) => [field, rule.kind === 'hash' ? { ...rule, key } : rule]),
  );
}

/** What is wrong with a stream's `columns`. */
export function findColumnProblems(
  name: string,
  stream: StreamConfig,
  loaded: LoadedConfig,
): readonly Problem[] {
  return Object.entries(stream.columns ?? {}).flatMap(([field, rule]) => {
    const at = (word: 'hash' | 'exclude', message: string): Problem => ({
      path: ['streams', name, 'columns', field, word],
      message,
    });
    const isKey = Array.isArray(stream.key) && stream.key.includes(field);
    const isCursor = typeof stream.cursor === 'object' && stream.cursor.field === field;
    return [
      ...(rule.exclude === true && isKey ? [at('exclude', 'excludes a field of the key')] : []),
      ...(rule.exclude === true && isCursor ? [at('exclude', 'excludes the field of the cursor')] : []),
      ...(rule.hash === true && isCursor
        ? [at('hash', 'hashes the field of the cursor, and a hash is not a date')]
        : []),
      ...(rule.hash === true && !isHashKeyGiven(loaded)
        ? [at('hash', 'needs defaults.hashKey, a secret of at least 16 characters, e.g. ${SLUICE_HASH_KEY}')]
        : []),
    ];
  });
}

/** Warns where the key of hashed columns is unset, which only commands that send no request allow. */
export function findHashKeyWarnings(loaded: LoadedConfig): readonly string[] {
  const isMissing = loaded.config.defaults?.hashKey === undefined;
  const isNeeded = Object.values(loaded.config.streams ?? {}).some((stream) =>
    Object.values(stream.columns ?? {}).some(({ hash }) => hash === true),
  );
  return isMissing && isNeeded
    ? ['defaults.hashKey is not set: streams with hashed columns look as if their config had changed']
    : [];
}

// Without a key a hash could be undone by trying every address there is. A placeholder counts: commands
// that send no request leave an unset one out.
function isHashKeyGiven({ config, leaves }: LoadedConfig): boolean {
  if (config.defaults?.hashKey !== undefined) return true;
  return leaves.some(({ path }) => path.length === 2 && path[0] === 'defaults' && path[1] === 'hashKey');
}

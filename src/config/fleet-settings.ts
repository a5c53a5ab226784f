import path from 'node:path';
import { z } from 'zod';
import { destinationSchema, type EngineReach } from '../model/destination.ts';
import { fleetDefaults, fleetSchema, type FleetSettings, type StorePlace } from '../model/fleet.ts';
import { listAccounts } from './accounts.ts';
import { type ConfigFile, isMap } from './config-file.ts';
import { describeIssues, phraseIssue } from './describe-issues.ts';
import { interpolate } from './interpolate.ts';
import { readStore, type Refuse } from './lakehouse-settings.ts';
import { describeServer, listPasswords, readPostgresUrl } from './postgres-url.ts';
import type { PlaceholderScope } from './read-placeholder.ts';
import { buildConfigError } from './problem.ts';
import { resolvePath } from './storage-paths.ts';

/** What the settings of a fleet depend on outside the config. */
export interface FleetScope {
  readonly env: PlaceholderScope['env'];
  readonly home: string | undefined;
}

/** The parts of a config that a fleet reads; accounts say the rest. */
const partSchema = z.object({
  fleet: fleetSchema,
  destination: z.object({ s3: destinationSchema.shape.s3 }).optional(),
});

const HINT = 'docs/fleet.md shows a config. Nothing was requested.';

/**
 * What a config says of its fleet.
 *
 * @throws ConfigError (2) for a config without accounts or without a fleet, and for what is wrong in it
 */
export function resolveFleet(file: ConfigFile, { env, home }: FleetScope): FleetSettings {
  const refuse: Refuse = (key, message, hint) => {
    throw buildConfigError([{ path: key, message, hint }], file);
  };
  const { fleet: written, destination } = file.value;
  if (listAccounts(file, env) === undefined)
    refuse(['fleet'], 'needs accounts, and the config has none', `Write accounts: into it. ${HINT}`);
  if ((written ?? undefined) === undefined)
    refuse(
      ['fleet'],
      'is missing: it says where the machines meet',
      `Write fleet: { database: "\${FLEET_DATABASE_URL}", encryptionKey: "\${FLEET_ENCRYPTION_KEY}" }. ${HINT}`,
    );
  const { database, store, encryptionKey, ...rest } = readParts(file, { written, destination }, env);
  if (database === undefined)
    return refuse(
      ['fleet', 'database'],
      'is missing',
      `Write database: "\${FLEET_DATABASE_URL}", with postgres://user:password@host:5432/database in it. ${HINT}`,
    );
  if (encryptionKey === undefined)
    return refuse(
      ['fleet', 'encryptionKey'],
      'is missing: the state of accounts lies in the store encrypted',
      `Make one (openssl rand -hex 32), keep it where the machines get their secrets from, and write encryptionKey: "\${FLEET_ENCRYPTION_KEY}". ${HINT}`,
    );
  const url = readPostgresUrl(database, ['fleet', 'database'], refuse);
  const resolve = (text: string) => resolvePath(text, file.baseDir, home);
  const { schedule, timezone = fleetDefaults.timezone, lease, jitter, putEveryPages, s3 } = rest;
  if (!isTimeZone(timezone))
    refuse(['fleet', 'timezone'], 'is not a time zone', `Write a name such as Europe/Berlin. ${HINT}`);
  return {
    database: url,
    place: describeServer(url),
    store: readPlace(store, { refuse, resolve }),
    reach: { store: readStore(s3, { refuse }), extensions: NO_EXTENSIONS },
    encryptionKey,
    leaseMs: lease ?? fleetDefaults.leaseMs,
    schedule: schedule === undefined ? undefined : { expression: schedule, timezone },
    jitterMs: jitter ?? fleetDefaults.jitterMs,
    putEveryPages: putEveryPages ?? fleetDefaults.putEveryPages,
    secrets: [...listPasswords(url), encryptionKey],
  };
}

/** A store is reached without the engine. */
const NO_EXTENSIONS: EngineReach['extensions'] = { folder: '', installs: false };

function readParts(
  file: ConfigFile,
  { written, destination }: { readonly written: unknown; readonly destination: unknown },
  env: FleetScope['env'],
) {
  const s3 = isMap(destination) ? (destination['s3'] ?? undefined) : undefined;
  const parts = { fleet: written, ...(s3 !== undefined && { destination: { s3 } }) };
  const found = interpolate(parts, { env, baseDir: file.baseDir, account: undefined, optional: [] });
  if (found.problems.length > 0) throw buildConfigError(found.problems, file);
  const result = partSchema.safeParse(found.value, { error: phraseIssue });
  if (!result.success)
    throw buildConfigError(
      describeIssues(result.error.issues, found.value, () => true),
      file,
    );
  return { ...result.data.fleet, s3: result.data.destination?.s3 };
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined;
  } catch {
    return false;
  }
}

function readPlace(
  text: string = fleetDefaults.store,
  { refuse, resolve }: { readonly refuse: Refuse; readonly resolve: (text: string) => string },
): StorePlace {
  if (text === 'postgres') return { kind: 'postgres' };
  const [, bucket, prefix = ''] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/.exec(text) ?? [];
  if (bucket !== undefined) return { kind: 's3', bucket, prefix: prefix.replaceAll(/^\/+|\/+$/g, '') };
  if (/^[a-z][a-z0-9+.-]*:/i.test(text) && !path.isAbsolute(text))
    return refuse(
      ['fleet', 'store'],
      'is not a place that Sluice knows',
      'Write s3://bucket/prefix, a folder that all machines see, or postgres.',
    );
  return { kind: 'folder', path: resolve(text) };
}

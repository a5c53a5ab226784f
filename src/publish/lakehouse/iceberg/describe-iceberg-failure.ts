import type { IcebergDestination } from '../../../model/destination.ts';
import type { SyncError } from '../../../model/errors.ts';
import { type Advice, describeEngineFailure, listStoreAdvice } from '../describe-failure.ts';

const CATALOG = /\/v1\/|Could not get token|Iceberg transaction|OAuth/i;
const ofCatalog = (words: string) =>
  new RegExp(`(?=[\\s\\S]*(?:${CATALOG.source}))(?=[\\s\\S]*(?:${words}))`, 'i');

const advice: readonly Advice[] = [
  {
    pattern: /Conflict_409|CommitFailedException|Requirement failed/,
    what: 'another program changed the same tables at the same time',
    hint: 'Run again: publishing needs no request.',
  },
  {
    pattern: ofCatalog('Unauthorized|Forbidden|HTTP 40[13]|_40[13]|Could not get token|invalid_client'),
    what: 'the catalog refuses the login',
    hint: 'Fix destination.iceberg.token or destination.iceberg.oauth2; docs/lakehouse.md lists what the role needs.',
  },
  {
    pattern: ofCatalog(
      'Could not connect|Could not resolve|Connection refused|SSL connect|Timeout was reached',
    ),
    what: 'the catalog cannot be reached',
    hint: 'Start it, or fix destination.iceberg.endpoint, and run again.',
  },
  {
    pattern: ofCatalog('HTTP (?:code )?5\\d\\d|_5\\d\\d|Service ?Unavailable'),
    what: 'the catalog is busy or broken',
    hint: 'Run again later: publishing needs no request.',
  },
  {
    pattern: /v1\/config/,
    what: 'this is not the address of an Iceberg REST catalog, or it has no such warehouse',
    hint: 'Fix destination.iceberg.endpoint (the address before /v1) or destination.iceberg.warehouse.',
  },
  {
    pattern: /NoSuchKey|The specified key does not exist/,
    what: 'files of a table are gone from the bucket',
    hint: 'Run `sluice sync` where the state folder still is: it writes tables again whose last commit lost its files. If an older file is gone, restore it, or drop the table in the catalog first. If the state folder is lost, drop both namespaces of Sluice: the next sync reads everything from the API.',
  },
  ...listStoreAdvice('the warehouse of destination.iceberg'),
  {
    pattern: /No credentials are provided/,
    what: 'the catalog gives no keys for the object store',
    hint: 'Write destination.s3: without it, the catalog has to give keys (vended credentials).',
  },
];

/** What the engine says about an Iceberg catalog. */
export function describeIcebergFailure(destination: IcebergDestination, thrown: unknown): SyncError {
  return describeEngineFailure(destination, thrown, advice);
}

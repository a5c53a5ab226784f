import type { MotherDuckDestination } from '../../../model/destination.ts';
import type { SyncError } from '../../../model/errors.ts';
import { type Advice, CONFLICT, describeEngineFailure } from '../describe-failure.ts';

const advice: readonly Advice[] = [
  {
    pattern:
      /DuckDB version.*(?:not (?:yet )?supported|no longer supported)|unsupported version of DuckDB|older version of DuckDB|running on DuckDB .*no longer supported/is,
    what: 'MotherDuck does not accept this version of the engine',
    hint: 'Use a release of Sluice with an engine that it accepts (docs/lakehouse.md), or publish to another destination until it accepts this one.',
  },
  {
    pattern: /not authenticated|Invalid MotherDuck token|Jwt |check your MotherDuck token|PERMISSION_DENIED/i,
    what: 'MotherDuck refuses the token',
    hint: 'Create one in its settings under Access Tokens, and write it as destination.motherduck.token.',
  },
  {
    pattern: /no database\/share named/i,
    what: 'there is no such database',
    hint: 'Create it (CREATE DATABASE), or fix destination.motherduck.database.',
  },
  {
    pattern: /read-only/i,
    what: 'the token or the database only allows to read',
    hint: 'Write a token of type Read/Write, of a user who owns the database, as destination.motherduck.token.',
  },
  {
    pattern:
      /Could not connect to MotherDuck|Failed to download "http|UNAVAILABLE|DEADLINE_EXCEEDED|failed to connect|Could not (?:connect|resolve)|Connection (?:refused|reset|timed out)|DNS resolution|Timeout was reached/i,
    what: 'MotherDuck cannot be reached',
    hint: 'Check the network and that this machine has root certificates (the package ca-certificates), and run again.',
  },
  {
    // The engine says what it tried next, and not why.
    pattern: /Current transaction is aborted/,
    what: 'the connection to MotherDuck was lost',
    hint: 'Run again: publishing needs no request.',
  },
  CONFLICT,
];

/** What the engine says about a database of MotherDuck. */
export function describeMotherDuckFailure(destination: MotherDuckDestination, thrown: unknown): SyncError {
  return describeEngineFailure(destination, thrown, advice);
}

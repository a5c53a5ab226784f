import { connectors } from '../connectors/registry.ts';
import { configDefaults } from '../src/model/config.ts';
import { fleetDefaults } from '../src/model/fleet.ts';
import type { Connector } from '../src/model/connector.ts';
import { orderOf } from '../src/orders/orders.ts';

const known: readonly Connector[] = Object.values(connectors);

/** What `docs/configuration.md` and the schema for editors say of a config key. */
export interface KeyReference {
  readonly type: string;
  readonly fallback: string;
  readonly meaning: string;
}

/** By key, with `<name>` for a stream's and `<field>` for a column's; Markdown. */
export const configReference: Readonly<Record<string, KeyReference>> = {
  'source.connector': {
    type: 'text',
    fallback: 'required',
    meaning: `The API's connector: ${listConnectors()}.`,
  },
  'source.baseUrl': {
    type: 'URL',
    fallback: 'required',
    meaning:
      'Address of the API, version segment included. `https:` only; `http:` for this machine (`localhost`, `127.0.0.1`). No user name, query or fragment.',
  },
  'source.apiKey': {
    type: 'text',
    fallback: 'required, or `bearerToken`',
    meaning: `The key, sent as ${tell(({ auth }) => auth.header)}. Written out in the file it works with a warning: use a placeholder.`,
  },
  'source.bearerToken': {
    type: 'text',
    fallback: 'none',
    meaning: 'A token made elsewhere, sent as `Authorization: Bearer`. Not together with `apiKey`.',
  },
  'source.arrayParams': {
    type: '`comma`, `repeat`',
    fallback: '`comma`',
    meaning: 'How a parameter with several values is sent: `a=1,2` or `a=1&a=2`.',
  },
  'source.keyExpiresAt': {
    type: 'date',
    fallback: 'none',
    meaning: 'Day the key expires. A warning appears from 14 days before.',
  },
  'source.quota': { type: 'map', fallback: '', meaning: 'Limits of requests; see [quota.md](quota.md).' },
  'source.quota.requestsPerHour': {
    type: 'whole number',
    fallback: `${tell(({ limits }) => (limits.requestsPerWindow * 3_600) / limits.windowSeconds)} until a response names the limit`,
    meaning: `A ceiling of your own. Unset, the server's ${tell(({ rateLimitHeaders }) => rateLimitHeaders.limit ?? 'limit')} counts.`,
  },
  'source.quota.burstPerSecond': {
    type: 'whole number',
    fallback: tell(({ limits }) => limits.burstPerSecond),
    meaning: 'Most requests that arrive within any second.',
  },
  'source.quota.reserve': {
    type: 'whole number',
    fallback: '`0`',
    meaning: 'Requests of each hour left for others. Less than `requestsPerHour`.',
  },
  'source.quota.ledgerDir': {
    type: 'folder',
    fallback: 'see [quota.md](quota.md#sharing-a-key)',
    meaning: 'Where processes with the same key share what is left of the hour.',
  },
  'destination.duckdb': {
    type: 'file',
    fallback: 'required, or `parquet`, `ducklake`, `iceberg`, `postgres` or `motherduck`',
    meaning:
      'The published file that readers open. Outside `stateDir`. A file that Sluice did not write is never replaced.',
  },
  'destination.parquet': {
    type: 'folder',
    fallback: 'none',
    meaning:
      'A [lake](lake.md) of Parquet files, next to the DuckDB file or in its place. A folder of its own, outside `stateDir`.',
  },
  'destination.ducklake.catalog': {
    type: 'address',
    fallback: 'none',
    meaning:
      'A [DuckLake](lakehouse.md) to publish to: `postgres://user:password@host/database`, or `sqlite:` and a file. Hidden in all output.',
  },
  'destination.ducklake.data': {
    type: 'folder, or `s3://…`',
    fallback: 'required with `catalog`',
    meaning: 'Where its data files lie: a folder, or a bucket and a prefix.',
  },
  'destination.ducklake.schema': {
    type: 'text',
    fallback: '`main`',
    meaning:
      'The schema for the tables. The state goes into a schema of its own beside it, `_sluice` or `_sluice_…`.',
  },
  'destination.iceberg.endpoint': {
    type: 'address',
    fallback: 'none',
    meaning:
      'An Iceberg REST catalog to [publish to](lakehouse.md#iceberg), without `/v1`. `http://` is for one on this machine.',
  },
  'destination.iceberg.warehouse': {
    type: 'text',
    fallback: 'required with `endpoint`',
    meaning: 'Its warehouse, as the catalog calls it.',
  },
  'destination.iceberg.namespace': {
    type: 'text',
    fallback: 'required with `endpoint`',
    meaning: 'The namespace for the tables. The state goes into `_sluice_…` beside it.',
  },
  'destination.iceberg.token': {
    type: 'secret',
    fallback: 'none',
    meaning: 'The token for the catalog, e.g. `${CATALOG_TOKEN}`. Hidden in all output.',
  },
  'destination.iceberg.oauth2.clientId': {
    type: 'text',
    fallback: 'none',
    meaning: 'In place of `token`: who asks for tokens.',
  },
  'destination.iceberg.oauth2.clientSecret': {
    type: 'secret',
    fallback: 'required with `clientId`',
    meaning: 'Its secret. Hidden in all output.',
  },
  'destination.iceberg.oauth2.tokenUrl': {
    type: 'address',
    fallback: 'required with `clientId`',
    meaning: 'Where tokens are given.',
  },
  'destination.iceberg.oauth2.scope': {
    type: 'text',
    fallback: 'none',
    meaning: 'The scope to ask for.',
  },
  'destination.iceberg.multiTableCommit': {
    type: '`true`, `false`',
    fallback: '`true`',
    meaning:
      'Whether the catalog commits several tables together. Write `false` for one that cannot, as Gravitino.',
  },
  'destination.postgres.url': {
    type: 'address',
    fallback: 'none',
    meaning:
      'A [Postgres](postgres.md) database to publish to: `postgres://user:password@host/database`, with `?sslmode=…` where it needs one. Hidden in all output.',
  },
  'destination.postgres.schema': {
    type: 'text',
    fallback: '`public`',
    meaning: 'The schema for the tables. The state goes into `_sluice_…` beside it.',
  },
  'destination.motherduck.database': {
    type: 'text',
    fallback: 'none',
    meaning:
      'A [MotherDuck](lakehouse.md#motherduck) database to publish to, which is there already: `analytics` or `md:analytics`.',
  },
  'destination.motherduck.schema': {
    type: 'text',
    fallback: '`main`',
    meaning:
      'The schema for the tables. The state goes into a schema of its own beside it, `_sluice` or `_sluice_…`.',
  },
  'destination.motherduck.token': {
    type: 'secret',
    fallback: 'required with `database`',
    meaning: 'A read/write access token, e.g. `${MOTHERDUCK_TOKEN}`. Hidden in all output.',
  },
  'destination.s3.endpoint': {
    type: 'address',
    fallback: 'that of AWS',
    meaning: 'The server of the buckets, e.g. `https://storage.example.com`.',
  },
  'destination.s3.region': {
    type: 'text',
    fallback: 'that of the environment',
    meaning: 'The region of the bucket.',
  },
  'destination.s3.urlStyle': {
    type: '`path`, `vhost`',
    fallback: '`vhost`',
    meaning:
      'Whether the bucket is in the path of the address or in its host. Most servers other than AWS want `path`.',
  },
  'destination.s3.credentials': {
    type: '`chain`, or a map',
    fallback: '`chain`',
    meaning:
      'The standard chain (environment, profile, role of the machine), or a key: `{ keyId: …, secret: … }`.',
  },
  'destination.s3.credentials.keyId': {
    type: 'text',
    fallback: 'none',
    meaning: 'The id of the key.',
  },
  'destination.s3.credentials.secret': {
    type: 'secret',
    fallback: 'none',
    meaning: 'Its secret, e.g. `${S3_SECRET}`. Hidden in all output.',
  },
  'engine.extensionDirectory': {
    type: 'folder',
    fallback: '`extensions` in `stateDir`, filled when needed',
    meaning:
      'Where the extensions of the engine lie, where there is no internet. See [lakehouse.md](lakehouse.md#extensions).',
  },
  'destination.combined': {
    type: 'file',
    fallback: 'none',
    meaning:
      'With `accounts`: one DuckDB file with the tables of all accounts and a column `account`, replaced as a whole after a sync. See [accounts.md](accounts.md).',
  },
  accounts: {
    type: 'map, or `${file:…}`',
    fallback: 'none',
    meaning:
      'Several accounts, each with what it says for itself: any part of a config. `${account}` is its name in every value. See [accounts.md](accounts.md).',
  },
  concurrency: {
    type: 'whole number',
    fallback: `\`${configDefaults.concurrency}\``,
    meaning:
      'With `accounts`: how many read at once. One that waits for its quota, loads or publishes is not counted.',
  },
  fleet: {
    type: 'map',
    fallback: 'none',
    meaning:
      'With `accounts`: how several machines share them. Read by the commands of a fleet, and by `sluice check`. See [fleet.md](fleet.md).',
  },
  'fleet.database': {
    type: 'URL',
    fallback: 'required by a fleet',
    meaning:
      'The Postgres database that hands out the work: `postgres://user:password@host/database`. Hidden in all output.',
  },
  'fleet.store': {
    type: '`s3://bucket/prefix`, a folder, or `postgres`',
    fallback: `\`${fleetDefaults.store}\``,
    meaning:
      'Where the state of accounts is kept between runs. A folder must be on a disk that all machines see. `postgres` is for states up to 256 MB. `destination.s3` says how a bucket is reached.',
  },
  'fleet.encryptionKey': {
    type: 'text, at least 16 characters',
    fallback: 'required by a fleet',
    meaning: 'Encrypts what is in the store. The same on all machines. Hidden in all output.',
  },
  'fleet.lease': {
    type: 'duration, at least `2s`',
    fallback: '`60s`',
    meaning: 'How long an account stays with a worker that is not heard of. Renewed while it works.',
  },
  'fleet.schedule': {
    type: 'cron expression',
    fallback: 'none: when somebody asks',
    meaning: 'When each account is synced: minute, hour, day, month, day of week.',
  },
  'fleet.timezone': {
    type: 'text',
    fallback: `\`${fleetDefaults.timezone}\``,
    meaning: 'Its time zone, e.g. `Europe/Berlin`.',
  },
  'fleet.jitter': {
    type: 'duration',
    fallback: '`0`',
    meaning: 'Spreads accounts over this long after each time of the schedule, each at its own minute.',
  },
  'fleet.putEveryPages': {
    type: 'whole number',
    fallback: `\`${fleetDefaults.putEveryPages}\``,
    meaning: 'Pages of a run after which they are put away, so that a kill costs no more.',
  },
  stateDir: {
    type: 'folder',
    fallback: '`./.sluice`',
    meaning:
      'Work file, staged pages, lock, run file. Made with mode 0700. On a local disk. See [state.md](state.md).',
  },
  'defaults.lookback': {
    type: 'duration, at least `1d`',
    fallback: '`3d`',
    meaning:
      'Days before the watermark that an incremental scan reads again, because a source restates them.',
  },
  'defaults.contract': {
    type: '`evolve`, `freeze`, `discard_row`, `discard_value`, or a map',
    fallback: '`evolve`',
    meaning:
      "What happens to data that the stream's contract does not know; see [contracts.md](contracts.md).",
  },
  'defaults.contract.columns': {
    type: 'one of the four',
    fallback: '`evolve`',
    meaning: 'For fields no column is known for.',
  },
  'defaults.contract.types': {
    type: 'one of the four',
    fallback: '`evolve`',
    meaning: "For values that their column's type does not hold.",
  },
  'defaults.deletes': {
    type: '`keep`, `soft`, `hard`',
    fallback: '`keep`',
    meaning:
      'What becomes of rows that a verified scan no longer finds: they stay, get a `_deleted_at`, or are removed. See [delivery.md](delivery.md#deletes).',
  },
  'defaults.maxDeleteRatio': {
    type: '0 to 1',
    fallback: '`0.2`',
    meaning:
      "Largest share of a table's live rows, or a slice's, that one scan may delete; more fails the stream, and the table stays as it was. See [the guard](delivery.md#the-guard).",
  },
  'defaults.history': {
    type: 'true, false',
    fallback: '`false`',
    meaning: 'Keeps every version of every row in `<table>_history`; see [delivery.md](delivery.md#history).',
  },
  'defaults.decimals': {
    type: 'double, exact',
    fallback: '`double`',
    meaning:
      'Columns of numbers with decimals: `DOUBLE` wherever that holds them as written, or `DECIMAL(38,s)` always; see [delivery.md](delivery.md#exact-decimals).',
  },
  'defaults.skipUnchanged': {
    type: 'true, false',
    fallback: '`false`',
    meaning:
      'Ends a stream after one request where first page, total and day are those of the last verified scan.',
  },
  'defaults.freshness': {
    type: 'duration',
    fallback: '`1h`',
    meaning:
      'A stream verified within this time, less a tenth, is skipped without a request. `0` never skips.',
  },
  'defaults.fullRefreshEvery': {
    type: 'duration',
    fallback: '`30d`',
    meaning: 'How long after the last full scan the next one is due.',
  },
  'defaults.maxInvalidRatio': {
    type: '0 to 1',
    fallback: '`0.05`',
    meaning:
      'Share of records that fail their contract, or are not JSON objects, above which a stream fails instead of quarantining them.',
  },
  'defaults.hashKey': {
    type: 'text, 16 characters or more',
    fallback: 'required where a column is hashed',
    meaning:
      'Secret key of the hashes that stand for [personal data](personal-data.md). Use a placeholder, e.g. `${SLUICE_HASH_KEY}`. Another key makes the next scan of the streams concerned a full one.',
  },
  'retention.quarantine': {
    type: 'duration',
    fallback: '`90d`',
    meaning: 'Age at which rows leave `_sluice.quarantine`.',
  },
  'retention.runs': {
    type: 'duration',
    fallback: '`365d`',
    meaning: 'Age at which rows leave `_sluice.runs` and `_sluice.stream_runs`.',
  },
  audit: {
    type: 'true, false',
    fallback: '`true`',
    meaning:
      "Whether each incremental sync asks how many rows the API has in all, and compares that with the table's: one request a paginated stream. See [delivery.md](delivery.md#the-count).",
  },
  'retention.archive': {
    type: 'duration',
    fallback: '`30d`',
    meaning: 'Age at which archived pages are dropped, unless `rebuild` still needs them. `0` keeps none.',
  },
  'retention.history': {
    type: 'duration',
    fallback: 'kept for ever',
    meaning: 'Age at which closed versions leave the `<table>_history` tables.',
  },
  'retention.lake': {
    type: 'duration',
    fallback: '`1h`',
    meaning:
      'How long the files of a [lake](lake.md#what-stays-and-for-how-long) stay that are no longer current, for readers that have them in use.',
  },
  'notify.onFailure': {
    type: 'URL, program or list',
    fallback: 'nobody',
    meaning: 'A run failed.',
  },
  'notify.onSuccess': {
    type: 'URL, program or list',
    fallback: 'nobody',
    meaning: 'A run ended with exit code 0.',
  },
  'notify.onDrift': {
    type: 'URL, program or list',
    fallback: 'nobody',
    meaning: "A stream's data moved while it was read.",
  },
  'notify.onSchemaChange': {
    type: 'URL, program or list',
    fallback: 'nobody',
    meaning: "A table's columns changed.",
  },
  'notify.onKeyExpiry': {
    type: 'URL, program or list',
    fallback: 'nobody',
    meaning: 'The key expires within 14 days, or has; needs `source.keyExpiresAt`.',
  },
  'streams.<name>.enabled': {
    type: 'true, false',
    fallback: '`true`',
    meaning: '`false` leaves the stream out. Its table stays.',
  },
  'streams.<name>.path': {
    type: 'path below `baseUrl`',
    fallback: "the connector's; required for your own",
    meaning: `Endpoint. The defaults are in the README of ${listConnectors()}.`,
  },
  'streams.<name>.paginated': {
    type: 'true, false',
    fallback: "the connector's; `false` for your own",
    meaning: 'Whether the answer comes in pages (`limit`, `offset`) or as [one document](#one-document).',
  },
  'streams.<name>.records': {
    type: 'JSON pointer',
    fallback: 'found: the top array, `/data`, the only array, else the document itself',
    meaning: 'Where an unpaginated answer holds its records.',
  },
  'streams.<name>.params': {
    type: 'map of text, number, true, false, or lists of them',
    fallback: 'none',
    meaning: `Query parameters. ${tell(({ paging }) => orderOf(paging).ownParams.join('`, `'))} are Sluice's own.`,
  },
  'streams.<name>.sliceBy': {
    type: 'list of names in `params`',
    fallback: 'none',
    meaning:
      'Makes one scan of each value of these lists (of each combination, for several), with its own checkpoint and verdict. The values become columns where the records lack them; `_slice` names the slice of a row.',
  },
  'streams.<name>.key': {
    type: '`auto`, list of fields',
    fallback: '`auto`',
    meaning:
      "Fields that identify a row: by the API's names, nested ones with dots (`meta.id`), or by column name. `auto` learns it from the data.",
  },
  'streams.<name>.cursor': {
    type: '`auto`, `false`, map',
    fallback: '`auto`',
    meaning:
      'The date field that incremental scans use. `auto` learns it and proves it; `false` always scans in full.',
  },
  'streams.<name>.cursor.field': {
    type: 'field',
    fallback: 'required in a map',
    meaning: 'Field with the date.',
  },
  'streams.<name>.cursor.param': {
    type: 'text',
    fallback: tell(
      ({ streams }) => streams.find((one) => one.startParam !== undefined)?.startParam ?? 'none',
    ),
    meaning: 'Query parameter that asks for rows from a date on. Given in a map, it is trusted, not proved.',
  },
  'streams.<name>.cursor.lookback': {
    type: 'duration, at least `1d`',
    fallback: '`defaults.lookback`',
    meaning: 'For this stream alone.',
  },
  'streams.<name>.write': {
    type: '`merge`, `replace`, `append`',
    fallback: '`merge`',
    meaning:
      '`merge` updates by key; `replace` scans in full and drops rows that no longer come (with `deletes: soft` it marks them); `append` never changes a row that is there.',
  },
  'streams.<name>.contract': {
    type: 'as in `defaults`',
    fallback: '`defaults.contract`',
    meaning: 'For this stream alone.',
  },
  'streams.<name>.contract.columns': {
    type: 'as in `defaults`',
    fallback: '`defaults.contract`',
    meaning: 'For this stream alone.',
  },
  'streams.<name>.contract.types': {
    type: 'as in `defaults`',
    fallback: '`defaults.contract`',
    meaning: 'For this stream alone.',
  },
  'streams.<name>.columns': {
    type: 'map of fields',
    fallback: 'none',
    meaning:
      'A rule for single fields, named by their path with dots or by column name. One of the next three each.',
  },
  'streams.<name>.columns.<field>.type': {
    type: '`VARCHAR`, `BOOLEAN`, `BIGINT`, `HUGEINT`, `DOUBLE`, `DECIMAL(p,s)`, `DATE`, `TIMESTAMP`, `TIMESTAMPTZ`, `JSON`',
    fallback: 'learned',
    meaning:
      "The column's type. Values that it holds exactly are converted; see [contracts.md](contracts.md#types-of-columns).",
  },
  'streams.<name>.columns.<field>.exclude': {
    type: '`true`',
    fallback: '',
    meaning: 'The field is left out before anything is written; see [personal-data.md](personal-data.md).',
  },
  'streams.<name>.columns.<field>.hash': {
    type: '`true`',
    fallback: '',
    meaning:
      "A keyed hash takes the place of the field's values before anything is written; needs `defaults.hashKey`. See [personal-data.md](personal-data.md).",
  },
  'streams.<name>.deletes': {
    type: '`keep`, `soft`, `hard`',
    fallback: '`defaults.deletes`',
    meaning: 'For this stream alone.',
  },
  'streams.<name>.maxDeleteRatio': {
    type: '0 to 1',
    fallback: '`defaults.maxDeleteRatio`',
    meaning: 'For this stream alone.',
  },
  'streams.<name>.maxInvalidRatio': {
    type: '0 to 1',
    fallback: '`defaults.maxInvalidRatio`',
    meaning: 'For this stream alone.',
  },
  'streams.<name>.history': {
    type: 'true, false',
    fallback: '`defaults.history`',
    meaning: 'For this stream alone.',
  },
  'streams.<name>.decimals': {
    type: 'double, exact',
    fallback: '`defaults.decimals`',
    meaning: 'For this stream alone. For one field, give its `type`.',
  },
  'streams.<name>.skipUnchanged': {
    type: 'true, false',
    fallback: '`defaults.skipUnchanged`',
    meaning: 'For this stream alone.',
  },
  'streams.<name>.audit': {
    type: 'true, false',
    fallback: '`audit`',
    meaning: 'For this stream alone.',
  },
  'streams.<name>.partitionBy': {
    type: 'list of columns, `year(…)`, `month(…)`, `day(…)`',
    fallback: 'the day of its cursor',
    meaning:
      'Folders of the stream in the [lake](lake.md#folders), e.g. `[country, month(date)]`; `[]` makes none.',
  },
  'streams.<name>.pageSize': {
    type: 'whole number from 2',
    fallback: tell(({ limits }) => limits.maxPageSize),
    meaning: 'Rows asked for in a page. The default is also the most.',
  },
};

/** What the connectors say, each with its name where they differ. */
function tell(say: (connector: Connector) => string | number): string {
  const [first = '', ...others] = known.map((connector) => String(say(connector)));
  if (others.every((other) => other === first)) return `\`${first}\``;
  return known.map((connector) => `\`${say(connector)}\` (${connector.name})`).join(', ');
}

function listConnectors(): string {
  return known.map(({ name }) => `[\`${name}\`](../connectors/${name}/README.md)`).join(', ');
}

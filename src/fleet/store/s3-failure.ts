import { ConfigError, StorageError, SyncError } from '../../model/errors.ts';
import { quoteServerText } from '../../text/redact.ts';

/** What an error of a store means, and what to do. */
interface Advice {
  readonly pattern: RegExp;
  readonly what: string;
  readonly hint: string;
  /** Only another config helps. */
  readonly isMistake?: true;
}

/** A store, as errors name it. */
interface FailedStore {
  readonly place: string;
  readonly secrets: readonly string[];
}

const SAFE = 'What was stored before is unchanged.';

// The first one that fits decides. They are matched against name, code, HTTP status and message.
const advice: readonly Advice[] = [
  {
    pattern: /NoSuchBucket/,
    what: 'the bucket does not exist',
    hint: 'Create the bucket, or fix fleet.store.',
    isMistake: true,
  },
  {
    pattern:
      /Region is missing|HTTP 30[1278]\b|PermanentRedirect|AuthorizationHeaderMalformed|IllegalLocation/,
    what: 'the bucket is in another region, or the region is not known',
    hint: 'Write the region of the bucket as destination.s3.region, and check destination.s3.endpoint.',
    isMistake: true,
  },
  {
    pattern: /RequestTimeTooSkewed/,
    what: 'the clock of this machine is wrong',
    hint: 'Set the clock (NTP), and run again.',
  },
  {
    pattern: /CredentialsProviderError|Could not load credentials|TokenProviderError/,
    what: 'there is no key for the object store',
    hint: 'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, use a profile or a role of the machine, or write destination.s3.credentials.',
  },
  {
    pattern: /HTTP 40[13]\b|SignatureDoesNotMatch|InvalidAccessKeyId|AccessDenied|ExpiredToken|InvalidToken/,
    what: 'the object store refuses the key',
    hint: 'Fix destination.s3.credentials, or the credentials in the environment: the key needs to list, read, write and delete below fleet.store.',
  },
  {
    pattern: /HTTP 507|StorageFull|InsufficientStorage|QuotaExceeded|EntityTooLarge/,
    what: 'the object store is full',
    hint: 'Make room in it, or raise its quota, and run again.',
  },
  {
    pattern: /CERT_|_CERT|SELF_SIGNED|UNABLE_TO_|certificate|ERR_TLS|ERR_SSL|EPROTO/i,
    what: 'the connection to the object store cannot be encrypted',
    hint: 'Fix destination.s3.endpoint; a certificate authority of your own is named by NODE_EXTRA_CA_CERTS.',
  },
  {
    pattern:
      /TimeoutError|ECONN|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EPIPE|socket hang up|aborted|ended early/i,
    what: 'the object store cannot be reached',
    hint: 'Start it, or fix destination.s3.endpoint, and run again.',
  },
  {
    pattern: /HTTP (?:5\d\d|429)|SlowDown|InternalError|ServiceUnavailable/,
    what: 'the object store fails',
    hint: 'Run again later.',
  },
];

/** What the SDK threw, as an error that says what to do; without secrets. Errors of Sluice stay unchanged. */
export function describeS3Failure({ place, secrets }: FailedStore, thrown: unknown): SyncError {
  if (thrown instanceof SyncError) return thrown;
  const raw = readFailure(thrown);
  const said = quoteServerText(raw.replaceAll(/\s*\n\s*/g, ' ').trim(), secrets);
  const found = advice.find(({ pattern }) => pattern.test(raw));
  const message = `${place}: ${found === undefined ? '' : `${found.what}: `}${said}`;
  const rest = {
    hint: `${found?.hint ?? 'Fix the cause and run again.'} ${SAFE}`,
    context: { path: place },
    // Not the error itself: it has the request in it.
    cause: new Error(said),
  };
  return found?.isMistake === true
    ? new ConfigError(message, { code: 'config_invalid', ...rest })
    : new StorageError(message, { code: 'storage_failed', ...rest });
}

/** Whether asking again may help; the SDK has asked several times for each answer, but not for what follows its head. */
export function isPassing(thrown: unknown): boolean {
  return (
    !(thrown instanceof SyncError) &&
    readStatus(thrown) === undefined &&
    /TimeoutError|ECONNRESET|EPIPE|aborted|ended early/i.test(readFailure(thrown))
  );
}

function readFailure(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const { code } = thrown as { readonly code?: unknown };
  const status = readStatus(thrown);
  // Node reports several addresses that were all tried as one error without a message.
  const messages = thrown instanceof AggregateError ? thrown.errors.map(String) : [];
  const parts = [
    thrown.name === 'Error' ? '' : thrown.name,
    typeof code === 'string' && !thrown.message.includes(code) && code !== thrown.name ? code : '',
    status === undefined ? '' : `HTTP ${status}`,
    [thrown.message, ...messages].filter((text) => text !== '').join('; '),
  ];
  return parts.filter((part) => part !== '').join(': ');
}

function readStatus(thrown: unknown): number | undefined {
  return (thrown as { readonly $metadata?: { readonly httpStatusCode?: number } }).$metadata?.httpStatusCode;
}

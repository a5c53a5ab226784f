import type * as Sdk from '@aws-sdk/client-s3';
import type { ObjectStore as BucketReach } from '../../model/destination.ts';
import { ConfigError } from '../../model/errors.ts';
import { loadPackage } from '../../model/load-package.ts';

type S3Sdk = typeof Sdk;

/** A bucket that can be used. */
export interface Bucket {
  readonly sdk: S3Sdk;
  readonly client: Sdk.S3Client;
  readonly bucket: string;
}

/** How long a server may let us wait, in ms. */
export interface Patience {
  readonly connectMs: number;
  /** Without a byte in either direction. */
  readonly idleMs: number;
}

/** Times the attempts: a server that does not answer costs half a minute. */
export const PATIENCE: Patience = { connectMs: 5_000, idleMs: 10_000 };
/** Of each request, the first one included. */
const ATTEMPTS = 3;

/**
 * Opens a bucket; nothing is requested.
 *
 * @throws ConfigError (2) if the SDK is not installed
 */
export async function openBucket(bucket: string, reach: BucketReach, patience = PATIENCE): Promise<Bucket> {
  const sdk = await loadPackage(
    { name: '@aws-sdk/client-s3', neededBy: 'this fleet' },
    () => import('@aws-sdk/client-s3'),
  );
  const { endpoint, region, urlStyle, keys } = reach;
  const client = new sdk.S3Client({
    ...(endpoint !== undefined && { endpoint: endpoint.origin }),
    // Servers other than AWS rarely ask for one.
    ...(region !== undefined ? { region } : endpoint !== undefined && { region: DEFAULT_REGION }),
    ...(keys !== undefined && { credentials: { accessKeyId: keys.keyId, secretAccessKey: keys.secret } }),
    forcePathStyle: urlStyle === 'path',
    followRegionRedirects: false,
    maxAttempts: ATTEMPTS,
    // Servers other than AWS refuse newer checksums; the signature has the SHA-256 of each body that we send.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: patience.connectMs, socketTimeout: patience.idleMs },
  });
  // The environment can name an address, too, which the config has not checked.
  client.middlewareStack.add(
    (next) => (args) => {
      assertEncrypted(args.request);
      return next(args);
    },
    { step: 'finalizeRequest', name: 'assertEncrypted' },
  );
  return { sdk, client, bucket };
}

const DEFAULT_REGION = 'us-east-1';

function assertEncrypted(request: unknown): void {
  const { protocol, hostname } = request as { readonly protocol?: string; readonly hostname?: string };
  if (protocol === 'https:' || /^(?:localhost|127(?:\.\d+){3}|\[?::1\]?)$/.test(hostname ?? '')) return;
  throw new ConfigError(`the address of the object store (${hostname ?? ''}) is not encrypted`, {
    code: 'config_invalid',
    hint: 'Write https:// in destination.s3.endpoint or AWS_ENDPOINT_URL_S3; http:// is for a server on this machine. Nothing was requested.',
  });
}

import type { GetObjectCommandOutput } from '@aws-sdk/client-s3';
import type { ObjectStore as BucketReach } from '../../model/destination.ts';
import { writeChunks } from './local-file.ts';
import { assertObjectName, isObjectName } from './object-name.ts';
import type { StateStore, StoredObject } from './state-store.ts';
import { describeS3Failure, isPassing } from './s3-failure.ts';
import type { Bucket } from './s3-sdk.ts';
import { uploadFile } from './s3-upload.ts';

/** Requests at a time, for names that are removed. */
const AT_ONCE = 8;
/** A download that is cut off begins again. */
const DOWNLOADS = 3;

/** Keeps objects in a bucket of S3 or its kin, below a prefix. */
export class S3Store implements StateStore {
  readonly place: string;
  readonly #bucket: Bucket;
  readonly #prefix: string;
  readonly #keys: BucketReach['keys'];

  /** @param prefix without slashes at its ends; empty: the whole bucket */
  constructor(bucket: Bucket, prefix: string, keys: BucketReach['keys']) {
    this.place = `s3://${bucket.bucket}${prefix === '' ? '' : `/${prefix}`}`;
    this.#bucket = bucket;
    this.#prefix = prefix === '' ? '' : `${prefix}/`;
    this.#keys = keys;
  }

  async put(name: string, file: string): Promise<void> {
    assertObjectName(name);
    await this.#guard(() => uploadFile(this.#bucket, `${this.#prefix}${name}`, file));
  }

  async get(name: string, file: string): Promise<boolean> {
    assertObjectName(name);
    return this.#guard(async () => {
      for (let tries = 1; ; tries += 1) {
        const answer = await this.#ask(name);
        if (answer === undefined) return false;
        try {
          const chunks = answer.Body as AsyncIterable<Uint8Array>;
          await writeChunks({ file, isScratch: true }, checkLength(chunks, answer.ContentLength));
          return true;
        } catch (error) {
          if (tries === DOWNLOADS || !isPassing(error)) throw error;
        }
      }
    });
  }

  async list(prefix: string): Promise<readonly StoredObject[]> {
    return this.#guard(async () => {
      const { sdk, client, bucket } = this.#bucket;
      const found: StoredObject[] = [];
      let ContinuationToken: string | undefined;
      do {
        const page = await client.send(
          new sdk.ListObjectsV2Command({
            Bucket: bucket,
            Prefix: `${this.#prefix}${prefix}`,
            ContinuationToken,
          }),
        );
        for (const { Key = '', Size = 0, LastModified } of page.Contents ?? []) {
          const name = Key.slice(this.#prefix.length);
          if (isObjectName(name)) found.push({ name, bytes: Size, storedAtMs: LastModified?.getTime() ?? 0 });
        }
        ContinuationToken = page.NextContinuationToken;
      } while (ContinuationToken !== undefined);
      return found;
    });
  }

  async remove(names: readonly string[]): Promise<void> {
    for (const name of names) assertObjectName(name);
    const { sdk, client, bucket } = this.#bucket;
    await this.#guard(async () => {
      for (let start = 0; start < names.length; start += AT_ONCE) {
        const some = names.slice(start, start + AT_ONCE);
        // One by one: servers other than AWS do not all know how to delete several.
        await Promise.all(
          some.map((name) =>
            client.send(new sdk.DeleteObjectCommand({ Bucket: bucket, Key: `${this.#prefix}${name}` })),
          ),
        );
      }
    });
  }

  close(): Promise<void> {
    this.#bucket.client.destroy();
    return Promise.resolve();
  }

  /** The head of an object, with its bytes to be read; undefined if there is none. */
  async #ask(name: string): Promise<GetObjectCommandOutput | undefined> {
    const { sdk, client, bucket } = this.#bucket;
    try {
      return await client.send(new sdk.GetObjectCommand({ Bucket: bucket, Key: `${this.#prefix}${name}` }));
    } catch (error) {
      if (error instanceof sdk.NoSuchKey) return undefined;
      throw error;
    }
  }

  async #guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      throw describeS3Failure({ place: this.place, secrets: await this.#listSecrets() }, thrown);
    }
  }

  /** Those of the config, or those that the chain found. */
  async #listSecrets(): Promise<readonly string[]> {
    if (this.#keys !== undefined) return [this.#keys.secret];
    const found = await this.#bucket.client.config.credentials().catch(() => undefined);
    return [found?.secretAccessKey, found?.sessionToken].filter((secret) => secret !== undefined);
  }
}

/** Passes chunks on; throws at the end if there were fewer than announced, so that no file of them appears. */
async function* checkLength(
  chunks: AsyncIterable<Uint8Array>,
  announced: number | undefined,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    yield chunk;
  }
  if (announced !== undefined && bytes !== announced)
    throw new Error(`the answer ended early: ${bytes} of ${announced} bytes`);
}

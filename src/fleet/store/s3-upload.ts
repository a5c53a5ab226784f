import type { FileHandle } from 'node:fs/promises';
import { onDisk, openLocal, readFully } from './local-file.ts';
import type { Bucket } from './s3-sdk.ts';

/** Held in memory at a time; smaller files go in one request. */
const PART_BYTES = 8 * 2 ** 20;
/** S3 takes 10,000. */
const MOST_PARTS = 9_000;

interface Upload extends Bucket {
  readonly key: string;
  readonly file: string;
  readonly handle: FileHandle;
  readonly size: number;
}

/**
 * Stores a file as an object, which appears whole or not at all. Each request has its bytes as a buffer, so that the
 * SDK signs them and can send them again.
 */
export async function uploadFile(bucket: Bucket, key: string, file: string): Promise<void> {
  const handle = await openLocal(file);
  try {
    const { size } = await onDisk(file, () => handle.stat());
    const upload = { ...bucket, key, file, handle, size };
    if (size > PART_BYTES) await uploadParts(upload);
    else await uploadAtOnce(upload);
  } finally {
    await handle.close();
  }
}

async function uploadAtOnce({ sdk, client, bucket, key, ...source }: Upload): Promise<void> {
  const body = Buffer.allocUnsafe(source.size);
  await readFully(source, body, 0);
  await client.send(new sdk.PutObjectCommand({ Bucket: bucket, Key: key, Body: body }));
}

async function uploadParts(upload: Upload): Promise<void> {
  const { sdk, client, bucket, key } = upload;
  const place = { Bucket: bucket, Key: key };
  const { UploadId } = await client.send(new sdk.CreateMultipartUploadCommand(place));
  try {
    const Parts = await sendParts(upload, UploadId);
    await client
      .send(new sdk.CompleteMultipartUploadCommand({ ...place, UploadId, MultipartUpload: { Parts } }))
      .catch((error: unknown) => assertCompleted(upload, error));
  } catch (error) {
    // Parts of an upload that is not completed cost money and are not listed.
    await client.send(new sdk.AbortMultipartUploadCommand({ ...place, UploadId })).catch(() => undefined);
    throw error;
  }
}

/** An answer that was lost is asked for again, and by then some servers know nothing of the upload. */
async function assertCompleted({ sdk, client, bucket, key, size }: Upload, error: unknown): Promise<void> {
  if (!(error instanceof Error) || error.name !== 'NoSuchUpload') throw error;
  const found = await client
    .send(new sdk.HeadObjectCommand({ Bucket: bucket, Key: key }))
    .catch(() => undefined);
  if (found?.ContentLength !== size) throw error;
}

interface SentPart {
  readonly PartNumber: number;
  readonly ETag: string | undefined;
}

async function sendParts(upload: Upload, UploadId: string | undefined): Promise<SentPart[]> {
  const { sdk, client, bucket, key, size } = upload;
  const length = Math.max(PART_BYTES, Math.ceil(size / MOST_PARTS));
  const whole = Buffer.allocUnsafeSlow(length);
  const parts: SentPart[] = [];
  for (let start = 0; start < size; start += length) {
    const body = whole.subarray(0, Math.min(length, size - start));
    await readFully(upload, body, start);
    const PartNumber = parts.length + 1;
    const { ETag } = await client.send(
      new sdk.UploadPartCommand({ Bucket: bucket, Key: key, UploadId, PartNumber, Body: body }),
    );
    parts.push({ PartNumber, ETag });
  }
  return parts;
}

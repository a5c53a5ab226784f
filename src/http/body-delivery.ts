import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { BodySink, ResponseHeaders } from '../model/http.ts';
import { readEncoding, unexpectedEncodingFault, toGunzipFault, tooLargeFault } from './gunzip.ts';

/** Bytes between the wire and its sink before the wire is held back. */
const MOST_BUFFERED_BYTES = 1 << 18;
const GUNZIP_CHUNK_BYTES = 1 << 17;

/** How the wire is held back while the sink is behind. */
export interface Wire {
  pause(): void;
  resume(): void;
}

/**
 * A body on its way from the wire to a sink: decompressed, counted, and never more of it in memory than the
 * sink is behind.
 */
export class BodyDelivery {
  /** Settles once the sink is done with the body; rejects with the first fault of the wire, else of the sink. */
  readonly done: Promise<void>;
  readonly #source: Readable;
  readonly #wire: Wire;
  #fault: Error | undefined;
  #isPaused = false;

  constructor(
    sink: BodySink,
    wire: Wire,
    options: { readonly headers: ResponseHeaders; readonly maxBytes: number },
  ) {
    this.#wire = wire;
    this.#source = new Readable({
      highWaterMark: MOST_BUFFERED_BYTES,
      read: () => {
        if (!this.#isPaused) return;
        this.#isPaused = false;
        wire.resume();
      },
    });
    // A sink that has left cannot be told; `done` tells the fault.
    this.#source.on('error', () => undefined);
    this.done = this.#deliver(sink, options.headers, options.maxBytes);
  }

  /** Hands a chunk on; false once the wire was told to pause. */
  push(chunk: Buffer): boolean {
    if (this.#source.destroyed || this.#source.push(chunk)) return true;
    this.#isPaused = true;
    this.#wire.pause();
    return false;
  }

  /** The last chunk was pushed. */
  end(): void {
    if (!this.#source.destroyed) this.#source.push(null);
  }

  /** No more will come: the sink sees the fault in place of the next chunk. */
  fail(fault: Error): void {
    this.#fault ??= fault;
    this.#source.destroy(fault);
  }

  async #deliver(sink: BodySink, headers: ResponseHeaders, maxBytes: number): Promise<void> {
    try {
      await sink(boundBytes(this.#decode(headers), maxBytes));
    } catch (error) {
      throw this.#fault ?? error;
    } finally {
      this.#source.destroy();
    }
    // A sink that does not look at the last chunk's fault must not pass for one that had all of it.
    if (this.#fault !== undefined) throw this.#fault;
  }

  async *#decode(headers: ResponseHeaders): AsyncGenerator<Buffer> {
    const encoding = readEncoding(headers);
    if (encoding === 'identity') {
      for await (const chunk of this.#source) yield chunk as Buffer;
      return;
    }
    if (encoding !== 'gzip') throw unexpectedEncodingFault(encoding);
    const gunzip = createGunzip({ chunkSize: GUNZIP_CHUNK_BYTES });
    pipeline(this.#source, gunzip, () => undefined);
    try {
      for await (const chunk of gunzip) yield chunk as Buffer;
    } catch (error) {
      throw this.#fault ?? toGunzipFault(error as NodeJS.ErrnoException);
    }
  }
}

async function* boundBytes(chunks: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer> {
  let byteCount = 0;
  for await (const chunk of chunks) {
    byteCount += chunk.length;
    if (byteCount > maxBytes) throw tooLargeFault('decompressed body', maxBytes);
    yield chunk;
  }
}

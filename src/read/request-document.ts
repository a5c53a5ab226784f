import { BugError } from '../model/errors.ts';
import type { ApiResponse, BodySink } from '../model/http.ts';
import type { Stream } from '../model/stream.ts';
import type { BodyFile } from '../stage/body-file.ts';
import { buildUrl } from '../http/build-url.ts';
import { type Asker, describeApi } from './request-page.ts';
import { DocumentReading, type RecordsPlace } from './read-document.ts';

/** Largest answer of an unpaginated endpoint, on the wire and decompressed, bytes. */
export const MAX_DOCUMENT_BYTES = 4 * 2 ** 30;

/** Request options: no time limit as long as data arrives. */
export const WHOLE_DATASET = { maxBytes: MAX_DOCUMENT_BYTES, deadline: 'idle' } as const;

/** A complete, valid unpaginated response. */
export interface RequestedDocument {
  readonly answer: ApiResponse;
  readonly place: RecordsPlace;
}

/**
 * Downloads the response of an unpaginated stream to a file and inspects it on the way. A truncated or invalid
 * response is retried within the client's limit, and the file is truncated.
 */
export async function requestDocument(
  asker: Asker,
  stream: Stream,
  from: string | undefined,
  file: BodyFile,
): Promise<RequestedDocument> {
  const { source, signal } = asker;
  let reading: DocumentReading | undefined;
  const sink: BodySink = async (chunks) => {
    const current = new DocumentReading(stream, source.connector.paging);
    reading = current;
    await file.clear();
    for await (const chunk of chunks) {
      const written = file.append(chunk);
      const isDocument = current.push(chunk);
      await written;
      if (!isDocument) return;
    }
  };
  let place: RecordsPlace | undefined;
  const answer = await source.client.get(
    {
      stream: stream.name,
      url: buildUrl(describeApi(asker), stream, from, undefined),
      body: WHOLE_DATASET,
      sink,
      accept: (response) => {
        place = reading?.finish(response);
      },
    },
    signal,
  );
  if (place === undefined)
    throw new BugError('a response was not read', { code: 'bug', hint: 'Please report this.' });
  return { answer, place };
}

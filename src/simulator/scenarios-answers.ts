import {
  breakConnection,
  errorStatus,
  html,
  rateLimited,
  respondWith,
  rewriteEnvelope,
  serverError,
} from './fault-effects.ts';
import { type Fault, type FaultMatch, when } from './faults.ts';
import { pagedScenario, type Scenario, SCENARIO_PATH as path } from './scenario.ts';

function answer(effect: Fault, match: FaultMatch = {}): { readonly faults: readonly Fault[] } {
  return { faults: [when({ path, ...match }, effect)] };
}

const json = { 'content-type': 'application/json; charset=utf-8' };

/** Invalid responses and server failures. */
export const answerScenarios: readonly Scenario[] = [
  pagedScenario({
    name: 'html-answer',
    sentence: 'A web page comes with status 200, as from a proxy or a login wall.',
    watch: 'Exit code 4 after a second try; the message shows how the page begins.',
    options: () => answer(html()),
  }),
  pagedScenario({
    name: 'error-in-200',
    sentence: 'An error envelope comes with status 200.',
    watch: 'Exit code 4: never taken for an answer without rows.',
    options: () =>
      answer(
        respondWith({
          status: 200,
          body: '{"error":{"code":"INTERNAL_ERROR","message":"half asleep"}}',
          headers: json,
        }),
      ),
  }),
  pagedScenario({
    name: 'empty-body',
    sentence: 'Status 200 and no body.',
    watch: 'Exit code 4 after a second try: never taken for an answer without rows.',
    options: () => answer(respondWith({ status: 200, body: '', headers: json })),
  }),
  pagedScenario({
    name: 'half-an-answer',
    sentence: 'Every body ends in the middle, with a length that says it is whole.',
    watch: 'Exit code 4 after a second try.',
    options: () =>
      answer(respondWith({ status: 200, body: '{"data":[{"promptId":"pr_1"},{"pro', headers: json })),
  }),
  pagedScenario({
    name: 'latin-1',
    sentence: 'The body is not UTF-8.',
    watch: 'Exit code 4: no character is ever replaced in silence.',
    options: () =>
      answer(
        respondWith({
          status: 200,
          body: Buffer.from('{"data":[{"prompt":"caf\u00E9"}],"pagination":{"total":1}}', 'latin1'),
          headers: { 'content-type': 'application/json; charset=iso-8859-1' },
        }),
      ),
  }),
  pagedScenario({
    name: 'array-answer',
    sentence: 'The records come as an array, without the envelope.',
    watch: 'Exit code 4; the message names the envelope that was expected.',
    options: () => answer(rewriteEnvelope(({ data }) => data)),
  }),
  pagedScenario({
    name: 'json-lines',
    sentence: 'The records come one a line.',
    watch: 'Exit code 4 after a second try.',
    options: () => answer(respondWith({ status: 200, body: '{"id":1}\n{"id":2}\n', headers: json })),
  }),
  pagedScenario({
    name: 'redirect',
    sentence: 'Every answer is a redirect to another host.',
    watch: 'Exit code 4, and the other host never hears of it: it would get the key.',
    options: () =>
      answer(respondWith({ status: 302, body: '', headers: { location: 'https://other.example/v1' } })),
  }),
  pagedScenario({
    name: 'outage',
    sentence: 'The endpoint answers 503.',
    watch: 'Exit code 75 after a few tries: run again later.',
    options: () => answer(serverError(503)),
  }),
  pagedScenario({
    name: 'brief-outage',
    sentence: 'Three requests in mid-scan are answered 503.',
    watch: 'They are tried again, and the scan is verified.',
    options: () => answer(serverError(503), { nth: 5, count: 3 }),
  }),
  pagedScenario({
    name: 'cut-connections',
    sentence: 'Every fifth answer is cut in the middle of its body.',
    watch: 'They are asked for again, and the scan is verified.',
    options: () => ({ faults: [everyFifth(breakConnection('cut'))] }),
  }),
  pagedScenario({
    name: 'rate-limited',
    sentence: 'Every fifth request is answered 429 with three seconds to wait.',
    watch: 'Each is waited for, and the scan is verified.',
    options: () => ({ faults: [everyFifth(rateLimited({ retryAfter: '3', bodyRetryAfter: 3 }))] }),
  }),
  pagedScenario({
    name: 'poison-page',
    sentence: 'The page at offset 495 always fails with 500; all others are answered.',
    watch: 'Exit code 4 naming the offset; the pages that came are kept for the next sync.',
    options: () => answer(serverError(), { offset: 495 }),
  }),
  pagedScenario({
    name: 'missing-page',
    sentence: 'The page at offset 495 is answered 404.',
    watch: 'Exit code 4 naming the offset: the stream is there, a page of it is not.',
    options: () => answer(errorStatus(404, 'Not found.'), { offset: 495 }),
  }),
  pagedScenario({
    name: 'offset-wall',
    sentence: 'No offset from 1,000 on is served.',
    watch: 'Exit code 4 saying so, with a way to read less at once.',
    options: () =>
      answer(errorStatus(400, 'Invalid parameter: offset must be less than 1000.'), {
        where: ({ offset }) => offset >= 1_000,
      }),
  }),
  pagedScenario({
    name: 'key-revoked',
    sentence: 'The key is revoked in mid-scan.',
    watch: 'Exit code 3; with a new key the next sync goes on with the pages that came.',
    options: () => ({
      faults: [
        when({ path, where: ({ index }) => index >= 4 }, errorStatus(401, 'The API key has been revoked.')),
      ],
    }),
  }),
  {
    name: 'missing-entity',
    sentence: 'visibility/mentions answers 400 until the parameter entity is given.',
    watch: 'Exit code 4; the message has the line of config that fixes it.',
    stream: 'visibility_mentions',
    steps: ['sync'],
    options: () => ({ requireEntity: true }),
  },
];

function everyFifth(effect: Fault): Fault {
  let turn = 0;
  return when({ path }, (context) => {
    turn += 1;
    return turn % 5 === 0 ? effect(context) : undefined;
  });
}

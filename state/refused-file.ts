import { closeSync, existsSync, fsyncSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { errorCodes } from '../src/model/errors.ts';
import type { RefusedRun } from '../src/model/refused-run.ts';
import { writeFileAtomically } from './run-file.ts';

// The block size of most disks: a file of this size can be overwritten even on a full disk.
const ROOM = 4_096;

const fileSchema = z.object({
  version: z.literal(1),
  refused: z
    .object({
      startedAt: z.iso.datetime(),
      error: z.object({
        code: z.enum(errorCodes),
        message: z.string(),
        hint: z.string(),
        exitCode: z.literal([1, 2, 3, 4, 5, 6, 75, 130, 143]),
        wasHeld: z.string().exactOptional(),
      }),
      times: z.int().positive(),
      since: z.iso.datetime(),
    })
    .nullable(),
});

/** The last refused sync; undefined if there is none or it cannot be read. */
export function readRefusedFile(stateDir: string): RefusedRun | undefined {
  try {
    const text = readFileSync(refusedFile(stateDir), 'utf8');
    return fileSchema.parse(JSON.parse(text)).refused ?? undefined;
  } catch {
    return undefined;
  }
}

/** Whether the state folder has reserved space to record a refused sync on a full disk. */
export function hasRefusedFile(stateDir: string): boolean {
  return existsSync(refusedFile(stateDir));
}

/** Records a refused sync, or with undefined only reserves the space; throws system errors. */
export function writeRefusedFile(stateDir: string, refused: RefusedRun | undefined): void {
  const file = refusedFile(stateDir);
  const text = toFixedSize(refused);
  try {
    writeFileAtomically(file, text);
  } catch (thrown) {
    rmSync(`${file}.tmp`, { force: true, recursive: true });
    // A full disk has no space for a second file, but the existing one can be overwritten.
    if (!existsSync(file)) throw thrown;
    writeOver(file, text);
  }
}

function writeOver(file: string, text: string): void {
  const descriptor = openSync(file, 'r+');
  try {
    writeSync(descriptor, Buffer.from(text), 0, undefined, 0);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** The file's text, padded to a fixed size; long texts are truncated. */
function toFixedSize(refused: RefusedRun | undefined): string {
  for (let most = ROOM / 2; ; most = Math.floor(most / 2)) {
    const text = JSON.stringify({
      version: 1,
      refused: refused === undefined ? null : cutTexts(refused, most),
    });
    const room = ROOM - Buffer.byteLength(text);
    if (room >= 0) return text + ' '.repeat(room);
  }
}

function cutTexts({ error, ...refused }: RefusedRun, most: number): RefusedRun {
  const cut = (text: string) => (text.length > most ? `${text.slice(0, most)}…` : text);
  return { ...refused, error: { ...error, message: cut(error.message), hint: cut(error.hint) } };
}

function refusedFile(stateDir: string): string {
  return join(stateDir, 'refused.json');
}

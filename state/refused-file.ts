import { closeSync, existsSync, fsyncSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { errorCodes } from '../src/model/errors.ts';
import type { RefusedRun } from '../src/model/refused-run.ts';
import { writeFileAtomically } from './run-file.ts';

// A block of most disks: what is as large can be written over where no block is left.
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
      }),
      times: z.int().positive(),
      since: z.iso.datetime(),
    })
    .nullable(),
});

/** The sync that was refused last; undefined where none was, or where nobody can tell. */
export function readRefusedFile(stateDir: string): RefusedRun | undefined {
  try {
    const text = readFileSync(refusedFile(stateDir), 'utf8');
    return fileSchema.parse(JSON.parse(text)).refused ?? undefined;
  } catch {
    return undefined;
  }
}

/** Whether the state folder keeps room to write a refused sync when its disk is full. */
export function hasRefusedFile(stateDir: string): boolean {
  return existsSync(refusedFile(stateDir));
}

/** Keeps a refused sync, or with undefined only the room for one; throws what the system refuses. */
export function writeRefusedFile(stateDir: string, refused: RefusedRun | undefined): void {
  const file = refusedFile(stateDir);
  const text = toFixedSize(refused);
  try {
    writeFileAtomically(file, text);
  } catch (thrown) {
    rmSync(`${file}.tmp`, { force: true, recursive: true });
    // A full disk has no room for a file beside it; over the one that is there, there is.
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

/** The file's text, always of one size: texts that are too long for it are cut. */
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

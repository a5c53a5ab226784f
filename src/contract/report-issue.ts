import type { z } from 'zod';
import type { Violation, ViolationKind } from './violation.ts';

/** What a check is given: a value to look at, and where to put what is wrong with it. */
export type CheckPayload = z.core.ParsePayload;

/** Puts what is wrong with a check's value into its payload. */
export function reportIssue(
  payload: CheckPayload,
  kind: ViolationKind,
  reason: string,
  path: Violation['path'] = [],
): void {
  payload.issues.push({
    code: 'custom',
    input: payload.value,
    message: reason,
    path: [...path],
    params: { kind },
  });
}

/** Checks a value against a second type, at a path below the value that is being checked. */
export function forwardIssues(
  type: z.ZodType,
  payload: CheckPayload,
  value: unknown = payload.value,
  path: Violation['path'] = [],
): void {
  const result = type.safeParse(value);
  if (result.success) return;
  for (const issue of result.error.issues) {
    const violation = toViolation(issue);
    reportIssue(payload, violation.kind, violation.reason, [...path, ...violation.path]);
  }
}

type Issue = Pick<z.core.$ZodIssue, 'code' | 'message'> & {
  readonly path?: readonly PropertyKey[] | undefined;
  readonly params?: Readonly<Record<string, unknown>> | undefined;
};

/** True for an issue of a value's type. */
export function isTypeIssue(issue: unknown): boolean {
  const { code, params } = issue as Issue;
  return code === 'invalid_type' || params?.['kind'] === 'type';
}

/** What an issue of ours, or of zod's, comes to. */
export function toViolation(issue: Issue): Violation {
  const path = (issue.path ?? []).map((part) => (typeof part === 'number' ? part : String(part)));
  const kind = issue.code === 'invalid_type' ? 'type' : (issue.params?.['kind'] as ViolationKind | undefined);
  return { path, kind: kind ?? 'rule', reason: issue.message };
}

export type AttributeValue = string | number | boolean;

/** Attributes of a span or an event; those without a value are left out. */
export type Attributes = Readonly<Record<string, AttributeValue | undefined>>;

/** Why a span is an error. */
export interface SpanError {
  /** A code, of which there are few. */
  readonly type: string;
  readonly message: string | undefined;
}

/** What is to be done to a span. Within a trace, spans have numbers; a parent begins before its children. */
export type SpanStep =
  | {
      readonly kind: 'begin';
      readonly span: number;
      readonly parent: number | undefined;
      readonly name: string;
      /** `client`: it stands for a request to another program. */
      readonly role: 'internal' | 'client';
      readonly atMs: number;
      readonly attributes: Attributes;
    }
  | {
      readonly kind: 'event';
      readonly span: number;
      readonly name: string;
      readonly atMs: number;
      readonly attributes: Attributes;
    }
  | {
      readonly kind: 'end';
      readonly span: number;
      readonly atMs: number;
      readonly attributes: Attributes;
      readonly error: SpanError | undefined;
    };

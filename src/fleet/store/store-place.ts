/** Where the objects of a fleet are kept. */
export type StorePlace =
  /** The prefix has no slash at its ends; empty: the whole bucket. */
  | { readonly kind: 's3'; readonly bucket: string; readonly prefix: string }
  /** Absolute path of a folder that all machines see. */
  | { readonly kind: 'folder'; readonly path: string }
  /** The database of the fleet. */
  | { readonly kind: 'postgres' };

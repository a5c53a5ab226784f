import { ConfigError, StorageError } from '../../model/errors.ts';

/** The error of a parcel that was cut, changed, or is none. `file` is where it was fetched to. */
export function damagedParcel(name: string, file: string, what: string): StorageError {
  return new StorageError(`the stored state ${name} is damaged: ${what}`, {
    code: 'state_damaged',
    hint: 'Nothing was unpacked, and the store is unchanged. Run again: it is fetched once more. If that does not help, restore the object in the store from a backup, or let the account begin again from what it published.',
    context: { path: file },
  });
}

/** The error of a parcel that belongs to another name. */
export function swappedParcel(name: string, file: string): StorageError {
  return new StorageError(`what is stored as ${name} was packed under another name`, {
    code: 'state_damaged',
    hint: 'Somebody moved or replaced objects in the store. Nothing was unpacked, so that no rows of two accounts are mixed. Put the objects back under their own names, and run again.',
    context: { path: file },
  });
}

/** The error of a parcel that another key has made. */
export function foreignParcel(name: string, file: string): ConfigError {
  return new ConfigError(`the stored state ${name} was encrypted with another key`, {
    code: 'config_invalid',
    hint: 'Nothing was unpacked, and the store is unchanged. Give every machine the fleet.encryptionKey that the fleet began with, and run again. To use another key, see "Encryption" in docs/fleet.md.',
    context: { path: file },
  });
}

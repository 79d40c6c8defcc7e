// Which keys signers may use with the service's own login (`SIGNER_KEYS`).

/** The characters that end a part of the name of a key. */
const separators = [":", "/"]

/** Whether `entry` is `key`, or contains it: `a:b` contains `a:b:c` and `a:b/c`, but not `a:bc`. */
const contains = (entry: string, key: string) =>
  key === entry ||
  (key.startsWith(entry) &&
    (separators.some((separator) => entry.endsWith(separator)) || separators.includes(key.charAt(entry.length))))

/** If `entries` is absent, all keys are allowed. */
export const isAllowed = (entries: ReadonlyArray<string> | undefined, key: string): boolean =>
  entries === undefined || entries.some((entry) => contains(entry, key))

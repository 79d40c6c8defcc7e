// Which keys signers may use by a login of the service itself (`SIGNER_KEYS`).

/** The characters that end a part of the name of a key. */
const separators = [":", "/"]

/** Whether `entry` is `key`, or contains it: `a:b` contains `a:b:c` and `a:b/c`, and not `a:bc`. */
const contains = (entry: string, key: string) =>
  key === entry ||
  (key.startsWith(entry) &&
    (separators.some((separator) => entry.endsWith(separator)) || separators.includes(key.charAt(entry.length))))

/** `entries` absent: all keys. */
export const isAllowed = (entries: ReadonlyArray<string> | undefined, key: string): boolean =>
  entries === undefined || entries.some((entry) => contains(entry, key))

// Which keys signers may use with the service's own login (`SIGNER_KEYS`).

/** The characters that end a part of a name. A colon is a part of the names of some projects of Google, and of URLs. */
const separatorsOf = (name: string) => (name.startsWith("arn:") ? [":", "/"] : ["/"])

/** Whether `container` is `name`, or contains it: `arn:a` contains `arn:a:b` and `arn:a/b`, but not `arn:ab`. */
const contains = (container: string, name: string) => {
  const separators = separatorsOf(name)
  return (
    name === container ||
    (name.startsWith(container) &&
      (separators.some((separator) => container.endsWith(separator)) ||
        separators.includes(name.charAt(container.length))))
  )
}

/** If `entries` is absent, all keys are allowed. */
export const isAllowed = (entries: ReadonlyArray<string> | undefined, key: string): boolean =>
  entries === undefined || entries.some((entry) => contains(entry, key))

/** Whether a key may be allowed of whose name only the first parts are known. They are empty if nothing is known. */
export const mayBeAllowed = (entries: ReadonlyArray<string> | undefined, firstParts: string): boolean =>
  isAllowed(entries, firstParts) || (entries ?? []).some((entry) => firstParts === "" || contains(firstParts, entry))

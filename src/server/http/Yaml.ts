// JSON values as YAML 1.2, in block style. Scalars are written as JSON, which is a subset of YAML.

/** Words that some YAML readers take for booleans or null. */
const reserved = /^(y|n|yes|no|on|off|true|false|null)$/i

const keyOf = (key: string): string => (/^[a-z_][\w-]*$/i.test(key) && !reserved.test(key) ? key : JSON.stringify(key))

const entriesOf = (value: unknown): ReadonlyArray<readonly [string, unknown]> | undefined => {
  if (typeof value !== "object" || value === null) return undefined
  const entries = Array.isArray(value)
    ? value.map((item): [string, unknown] => ["- ", item])
    : Object.entries(value).map(([key, item]): [string, unknown] => [`${keyOf(key)}: `, item])
  return entries.length === 0 ? undefined : entries
}

const lines = (value: unknown, indent: string): ReadonlyArray<string> =>
  (entriesOf(value) ?? []).flatMap(([head, item]) =>
    entriesOf(item) === undefined
      ? [`${indent}${head}${JSON.stringify(item)}`]
      : [`${indent}${head.trimEnd()}`, ...lines(item, `${indent}  `)]
  )

/** `value` is an object or a list. Like `JSON.stringify`, it leaves out members that are `undefined`. */
export const stringify = (value: unknown): string => `${lines(JSON.parse(JSON.stringify(value)), "").join("\n")}\n`

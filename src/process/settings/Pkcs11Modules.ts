// The libraries of PKCS#11 that signers may use, as the setting PKCS11_MODULES lists them. A request gives a name, never a path,
// because the service runs the code of the library.
import { Schema, SchemaTransformation } from "effect"

const expected = "names with absolute paths, such as hsm=/usr/lib/softhsm/libsofthsm2.so, with commas between them"

const Entry = Schema.String.check(Schema.isPattern(/^[a-z0-9][a-z0-9_-]{0,31}=\/[^,=]+$/u, { expected }))

const nameOf = (entry: string) => entry.slice(0, entry.indexOf("="))

const Entries = Schema.Array(Entry).check(
  Schema.makeFilter((entries) => new Set(entries.map(nameOf)).size === entries.length, { expected: "each name once" })
)

const List = Schema.String.pipe(
  Schema.decodeTo(
    Entries,
    SchemaTransformation.transform({
      decode: (text: string): ReadonlyArray<string> => text.split(",").map((entry) => entry.trim()),
      encode: (entries) => entries.join(",")
    })
  )
)

/** Paths by name. */
export const FromText = List.pipe(
  Schema.decodeTo(
    Schema.ReadonlyMap(Schema.String, Schema.String),
    SchemaTransformation.transform({
      decode: (entries: ReadonlyArray<string>): ReadonlyMap<string, string> =>
        new Map(entries.map((entry) => [nameOf(entry), entry.slice(entry.indexOf("=") + 1)])),
      encode: (paths): ReadonlyArray<string> => [...paths].map(([name, path]) => `${name}=${path}`)
    })
  )
)

// Every exported schema of the domain and of the contract decodes its own encoding to the same value.
import { assert, describe, it } from "@effect/vitest"
import { Equal, Schema } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Json from "../../src/api/Json.ts"
import { immutable } from "../../src/domain/request/MergePatch.ts"

type Codec = Schema.Codec<unknown>

const src = path.join(import.meta.dirname, "../../src")
const files = fs.globSync(["domain/**/*.ts", "api/**/*.ts"], { cwd: src }).sort()

const schemas = new Map<string, Codec>()
for (const file of files) {
  const module: Record<string, unknown> = await import(path.join(src, file))
  for (const [name, value] of Object.entries(module)) {
    if (Schema.isSchema(value) && value !== immutable) schemas.set(`${file} ${name}`, value as Codec)
  }
}

const roundTrips = (schema: Codec) => (value: unknown) => {
  const encoded = Schema.encodeSync(schema)(value)
  assert.isTrue(Equal.equals(Schema.decodeSync(schema)(encoded), value), String(JSON.stringify(encoded)))
}

describe("exported schemas", () => {
  it("are found", () => {
    assert.isAbove(schemas.size, 100)
  })

  for (const [name, schema] of schemas) {
    it.prop(`${name} round-trips`, [schema], ([value]) => roundTrips(schema)(value))

    it.prop(`${name} round-trips as the text of a body`, [schema], ([value]) =>
      roundTrips(Json.fromText(schema))(value)
    )

    const json: Codec = Schema.toCodecJson(schema)
    it.prop(`${name} round-trips through JSON.stringify and JSON.parse`, [schema], ([value]) => {
      const text = JSON.stringify(Schema.encodeSync(json)(value))
      assert.isTrue(Equal.equals(Schema.decodeUnknownSync(json)(JSON.parse(text)), value), text)
    })
  }
})

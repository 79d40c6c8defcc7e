// Every exported schema of the domain and of the contract decodes its own encoding to the same value.
import { assert, describe, it } from "@effect/vitest"
import { Equal, Schema } from "effect"
import { OpenApi } from "effect/http-api"
import * as fs from "node:fs"
import * as path from "node:path"
import { Api } from "../../src/api/Api.ts"
import * as Json from "../../src/api/Json.ts"
import { Relayer } from "../../src/domain/relayer/Relayer.ts"
import { immutableField } from "../../src/domain/request/Request.ts"
import { property } from "../../testkit/Depth.ts"

type Codec = Schema.Codec<unknown>

const src = path.join(import.meta.dirname, "../../src")
const files = fs.globSync(["{api,domain}/**/*.ts", "networks/{core,*/rules}/*.ts"], { cwd: src }).sort()

const schemas = new Map<string, Codec>()
for (const file of files) {
  const module: Record<string, unknown> = await import(path.join(src, file))
  for (const [name, value] of Object.entries(module)) {
    if (Schema.isSchema(value) && value !== immutableField) schemas.set(`${file} ${name}`, value as Codec)
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null

/**
 * Whether a key needs an escape in JSON. `JSON.parse` of Node 24.21 (V8 13.6) takes such a key for the key `\` of an earlier object:
 * after `{"x":1,"\\":2}`, it parses `{"x":1,"\u0000":2}` to an object with the key `\`.
 */
const hasEscapedKey = (value: unknown): boolean =>
  isObject(value) &&
  Object.entries(value).some(([key, child]) => JSON.stringify(key).length > key.length + 2 || hasEscapedKey(child))

/** Bodies never contain these as they are: `RpcError.data` is the answer of a node, and JSON-RPC answers have their own schema. */
const neverBodies = new Set(["networks/core/NodeCall.ts RpcError"])

const roundTrips = (schema: Codec) => (value: unknown) => {
  if (hasEscapedKey(value)) return
  const encoded = Schema.encodeSync(schema)(value)
  assert.isTrue(Equal.equals(Schema.decodeSync(schema)(encoded), value), String(JSON.stringify(encoded)))
}

/**
 * Positions in the audit log are shown as they are stored, also if someone has tampered with them. JSON-RPC allows any
 * integer as id and as code.
 */
const unbounded = new Set([
  "AuditRecord.position",
  "AuditVerification.broken_at",
  "JsonRpcRequest.id.1",
  "JsonRpcResponse.id.1",
  "JsonRpcError.code"
])

/** The integers of a JSON schema that may be any integer. */
const unboundedIn = (node: unknown, name: string): ReadonlyArray<string> => {
  if (!isObject(node)) return []
  const isAny = node.type === "integer" && node.minimum === -Number.MAX_SAFE_INTEGER
  return [
    ...(isAny ? [name] : []),
    ...Object.entries(node).flatMap(([key, child]) =>
      unboundedIn(child, ["properties", "anyOf", "allOf", "items"].includes(key) ? name : `${name}.${key}`)
    )
  ]
}

describe("exported schemas", () => {
  it("are found", () => {
    assert.isAbove(schemas.size, 100)
  })

  it("have integers with realistic bounds", () => {
    const found = unboundedIn(OpenApi.fromApi(Api).components.schemas, "")
    assert.deepStrictEqual(
      found.map((name) => name.slice(1)).filter((name) => !unbounded.has(name)),
      []
    )
  })

  it.prop("generate addresses of their network types", [Relayer], ([{ network_type, address }]) => {
    const pattern = { evm: /^0x[0-9a-f]{40}$/, solana: /^[1-9A-HJ-NP-Za-km-z]{32,44}$/, stellar: /^G[A-Z2-7]{55}$/ }
    assert.match(address, pattern[network_type])
  })

  for (const [name, schema] of schemas) {
    it.prop(`${name} round-trips`, [schema], ([value]) => roundTrips(schema)(value), property())

    if (!neverBodies.has(name)) {
      it.prop(
        `${name} round-trips as the text of a body`,
        [schema],
        ([value]) => roundTrips(Json.fromText(schema))(value),
        property()
      )
    }

    const json: Codec = Schema.toCodecJson(schema)
    it.prop(
      `${name} round-trips through JSON.stringify and JSON.parse`,
      [schema],
      ([value]) => {
        if (hasEscapedKey(value)) return
        const text = JSON.stringify(Schema.encodeSync(json)(value))
        assert.isTrue(Equal.equals(Schema.decodeUnknownSync(json)(JSON.parse(text)), value), text)
      },
      property()
    )
  }
})

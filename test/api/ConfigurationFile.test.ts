// The published schema of configuration files and the decoder agree, apart from rules that JSON Schema cannot express.
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import type { SchemaAST } from "effect"
import { Ajv2020 } from "ajv/dist/2020.js"
import * as fs from "node:fs"
import { document } from "../../src/api/document/ConfigurationFile.ts"
import {
  alternatives,
  decodeObject,
  fieldOf,
  isMembers,
  isSecret,
  itemsOf,
  keyFields,
  kinds,
  requests,
  structsOf
} from "../../src/domain/configuration/Document.ts"
import type { Kind } from "../../src/domain/configuration/Document.ts"
import * as ExactJson from "../../src/domain/request/ExactJson.ts"
import { property } from "../../testkit/Depth.ts"

const schema = document()

// A value beyond 2^53 and a format such as `uri` are checked by the decoder only.
const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false })
const validate = ajv.compile(schema as object)

const accepts = (kind: Kind, id: string, body: unknown): boolean =>
  validate({ version: 1, name: "test", [kind]: { [id]: body } })

/** Null counts as left out: the command does not send it. */
const withoutNull = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutNull)
  if (!isMembers(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, child]) => child !== null)
      .map(([name, child]) => [name, withoutNull(child)])
  )
}

const violations = (kind: Kind, id: string, body: unknown): ReadonlyArray<string> =>
  Result.match(decodeObject(kind, id, withoutNull(body)), {
    onSuccess: () => [],
    onFailure: (found) => found.map(({ field, message }) => `${field}: ${message}`)
  })

/** Replaces secrets by references that need no variable. */
const referring = (shapes: ReadonlyArray<SchemaAST.AST>, value: unknown): unknown => {
  if (shapes.some(isSecret)) return value === null ? null : { stored: true }
  if (Array.isArray(value)) return value.map((item) => referring(itemsOf(shapes), item))
  if (!isMembers(value)) return value
  const structs = structsOf(shapes, (name) => value[name])
  return Object.fromEntries(
    Object.entries(value).map(([name, child]) => [name, referring(fieldOf(structs, name), child)])
  )
}

interface Written {
  readonly id: string
  readonly body: Record<string, unknown>
}

/** The object as a file has it. */
const written = (kind: Kind, request: unknown): Written => {
  const encode = Schema.encodeUnknownSync(requests[kind] as Schema.Codec<unknown>)
  const exact = ExactJson.parse(JSON.stringify(encode(request)))
  // ajv knows no `bigint`; amounts may be texts.
  const text = JSON.stringify(exact, (_, child: unknown) => (typeof child === "bigint" ? String(child) : child))
  const whole = JSON.parse(text) as Record<string, unknown>
  const id = kind === "networks" ? `${String(whole["network_type"])}:${String(whole["name"])}` : "generated"
  const hidden: ReadonlyArray<string> = keyFields[kind]
  const referred = referring(alternatives(requests[kind].ast), whole) as Record<string, unknown>
  return { id, body: Object.fromEntries(Object.entries(referred).filter(([name]) => !hidden.includes(name))) }
}

/** Rules that JSON Schema cannot express, or that the published schema leaves to the service. */
const beyondSchema = [
  /URL/,
  /key above zero/,
  /an integer from/,
  /a whole number of wei/,
  /Expected an integer/,
  /together with/,
  /only (valid|supported)/,
  /duplicate|unique/i,
  /cron/,
  /is required if/,
  /must name a program if/,
  /text without NUL/,
  /RFC 3339|moment/,
  /determined by the key/
]

const mutations: ReadonlyArray<unknown> = [null, 1.5, -1, "", "x y", [], {}, true, [1.5], { env: "RELAYER_X", more: 1 }]

/** Copies of the value with one place replaced, and copies with an unknown field. */
const mutated = (value: unknown): ReadonlyArray<unknown> => {
  if (Array.isArray(value)) {
    return [
      ...mutations,
      ...mutated(value[0])
        .slice(0, 8)
        .map((item) => [item])
    ]
  }
  if (!isMembers(value)) return mutations
  // The decoder gets resolved secrets, so that it accepts texts. The rules of references are tested below.
  if ("stored" in value) return []
  const fields = Object.entries(value).flatMap(([name, child]) =>
    mutated(child).map((changed) => ({ ...value, [name]: changed }))
  )
  const without = Object.keys(value).map((name) =>
    Object.fromEntries(Object.entries(value).filter(([key]) => key !== name))
  )
  return [...fields, ...without, { ...value, unknown_field: 1 }]
}

describe("the schema of configuration files", () => {
  it("is the file in the package", () => {
    const file = fs.readFileSync(new URL("../../relayers.schema.json", import.meta.url), "utf8")
    assert.deepStrictEqual(JSON.parse(file), JSON.parse(JSON.stringify(schema)))
  })

  for (const kind of kinds) {
    it.prop(
      `accepts what the decoder accepts: ${kind}`,
      [requests[kind] as Schema.Codec<unknown>],
      ([request]) => {
        const { id, body } = written(kind, request)
        assert.deepStrictEqual(violations(kind, id, body), [])
        assert.isTrue(accepts(kind, id, body), JSON.stringify([body, validate.errors]))
        for (const changed of mutated(body)) {
          const found = violations(kind, id, changed)
          const isValid = accepts(kind, id, changed)
          if (isValid === (found.length === 0)) continue
          const context = JSON.stringify({ kind, id, changed, found, errors: validate.errors?.slice(0, 3) })
          assert.isTrue(isValid, `only the schema refuses ${context}`)
          for (const message of found) {
            assert.isTrue(
              beyondSchema.some((rule) => rule.test(message)),
              `only the decoder refuses ${context}`
            )
          }
        }
      },
      property()
    )
  }

  it("refuses a secret as text, and takes references", () => {
    const ops = (signing_key: unknown) => accepts("notifications", "ops", { url: "https://a.example", signing_key })
    assert.isFalse(ops("0123456789abcdef0123456789abcdef"))
    assert.isTrue(ops({ env: "RELAYER_KEY" }))
    assert.isTrue(ops({ file: "keys/ops" }))
    assert.isFalse(ops({ env: "RELAYER_KEY", file: "keys/ops" }))
    const key = (key: unknown) => accepts("signers", "hot", { type: "plain", config: { key } })
    assert.isTrue(key({ generate: true }))
    assert.isTrue(key({ mnemonic: { env: "RELAYER_WORDS" }, path: "m/44'/60'/0'/0/0" }))
    assert.isFalse(key(`0x${"1".repeat(64)}`))
    assert.isTrue(accepts("networks", "evm:acme", { rpc_urls: [{ url: { env: "RELAYER_RPC" } }, "https://a.example"] }))
  })
})

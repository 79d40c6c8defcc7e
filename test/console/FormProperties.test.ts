// Properties of forms: every schema of the contract has fields, what the hints say is valid, and values are sent unchanged.
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Schema } from "effect"
import { Ajv2020 } from "ajv/dist/2020.js"
import formats from "ajv-formats"
import * as fs from "node:fs"
import { Uint128 } from "../../src/domain/chain/Amount.ts"
import { formOf, formsOf, secretNames } from "../../scripts/console/Forms.ts"
import type { OpenApiDocument } from "../../scripts/console/Forms.ts"
import { smallestUnits } from "../../web/src/data/Amounts.ts"
import type { Unit } from "../../web/src/data/Amounts.ts"
import { bodyOf, enteredOf, patchOf, unitKey } from "../../web/src/data/FormFields.ts"
import type { Form, FormField } from "../../web/src/data/FormFields.ts"

const document = JSON.parse(fs.readFileSync(new URL("../../openapi.json", import.meta.url), "utf8")) as OpenApiDocument
const forms = Object.entries(formsOf(document))
const ether: Unit = { ...smallestUnits.evm, symbol: "ETH" }

const ajv = new Ajv2020({ strict: false, allErrors: true, formats: { uint64: true, uint128: true } })
formats.default(ajv)
ajv.addSchema(document, "document")

const secretPaths = new Set([...secretNames].map((name) => `/${name.replaceAll(".", "/")}`))

/** What is wrong with a body, by the schema of the contract. The shapes of secrets are not entered here. */
const faultsBy = (name: string) => {
  const validate = ajv.compile({ $ref: `document#/components/schemas/${name}` })
  return (body: unknown): ReadonlyArray<string> => {
    if (validate(body)) return []
    return (validate.errors ?? [])
      .filter(({ instancePath, keyword }) => !secretPaths.has(instancePath) && keyword !== "anyOf")
      .map(({ instancePath, message }) => `${instancePath} ${message}`)
  }
}

/** What a person enters who follows the hint of the field. */
const hinted = ({ kind, example, choices }: FormField): string => {
  if (kind === "boolean") return "true"
  if (kind === "choices" || kind === "choice") return choices?.[0] ?? ""
  if (kind === "lines" || kind === "urls") return (example ?? "").replaceAll(", ", "\n")
  return example ?? "entered"
}

/** A nested object is entered as a whole, or not at all. */
const groupOf = ({ name }: FormField) => name.split(".")[0] ?? name

/** Words that a form must not change: with blanks inside, other scripts, and what looks like another type. */
const Word = Schema.Literals(["0xab", "a b", "{}", "-1", "null", "true", "1e18", "\u05D0\u05D1", "x".repeat(80)])

/** Texts without blanks. */
const UrlText = Schema.Literals(["https://a.example/***", "https://b.example:8545/key?x=1", "http://[::1]/"])

const Lines = Schema.Array(Word).check(Schema.isBetweenLength(1, 4))

const Url = Schema.Struct({
  url: UrlText,
  weight: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100 })))
})

/** Seconds since 1970, until the year 2096. */
const Moment = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4_000_000_000 }))

/** -0 is left out, because JSON writes it as 0. */
const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))

const Nested = Schema.Struct({
  list: Lines,
  count: Count,
  inner: Schema.optionalKey(Schema.Struct({ word: Word }))
})

const Calls = Schema.Array(
  Schema.Struct({ to: Word, value: Schema.optionalKey(Uint128), data: Schema.optionalKey(Word) })
).check(Schema.isBetweenLength(1, 4))

const withTexts = (call: unknown) =>
  isObject(call) && "value" in call ? { ...call, value: String(call["value"]) } : call

/** What is generated for a field. */
const generated = ({ kind, choices = [], fixed, unit }: FormField) => {
  if (fixed !== undefined) return Schema.Literal(fixed)
  switch (kind) {
    case "amount":
      return Uint128
    case "integer":
      if (unit !== undefined) return Count
      return Schema.Int.check(Schema.isBetween({ minimum: -999_999_999_999_999, maximum: 999_999_999_999_999 }))
    case "number":
      return Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000 }))
    case "boolean":
      return Schema.Boolean
    case "choice":
      return Schema.Literals(choices)
    case "choices":
      return Schema.Array(Schema.Literals(choices)).check(Schema.isBetweenLength(1, 3))
    case "lines":
      return Lines
    case "urls":
      return Schema.Array(Url).check(Schema.isBetweenLength(1, 4))
    case "moment":
      return Moment
    case "json":
      return Nested
    case "calls":
      return Calls
    case "authorizations":
      return Schema.Array(Nested).check(Schema.isBetweenLength(1, 4))
    case "text":
    case "secret":
      return Word
  }
}

/** The generated value as a body has it. */
const sent = ({ kind }: FormField, value: unknown): unknown => {
  switch (kind) {
    case "amount":
      return String(value)
    case "number":
      return Number(value) / 100
    case "calls":
      return Array.isArray(value) ? value.map(withTexts) : value
    case "moment":
      return DateTime.formatIso(DateTime.makeUnsafe(Number(value) * 1_000))
    default:
      return value
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

const put = (
  object: unknown,
  [first = "", ...rest]: ReadonlyArray<string>,
  value: unknown
): Record<string, unknown> => {
  const whole = isObject(object) ? object : {}
  return { ...whole, [first]: rest.length === 0 ? value : put(whole[first], rest, value) }
}

/** All required fields of the form, and some of the others, by their names. */
const valuesOf = (form: Form) =>
  Schema.Struct(
    Object.fromEntries(
      form.map((field) => [
        field.name,
        field.isRequired === true ? generated(field) : Schema.optionalKey(generated(field))
      ])
    )
  )

const bodyFrom = (form: Form, values: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  form.reduce<Record<string, unknown>>(
    (body, field) => (field.name in values ? put(body, field.name.split("."), sent(field, values[field.name])) : body),
    {}
  )

/** Each form is tried so often. */
const options = { arbitrary: { runs: 25 } }

describe("a form", () => {
  it("exists for every request and policy of the contract", () => {
    const names = Object.keys(document.components.schemas).filter((name) => /(Request|Policy)$/.test(name))
    assert.isAbove(names.length, 60)
    for (const name of names) assert.doesNotThrow(() => formOf(name, document), undefined, name)
  })

  for (const [name, form] of forms) {
    const parts = [...new Set(form.map(groupOf))]
    const faultsOf = faultsBy(name)

    it.prop(
      `${name} makes a valid body of what its hints say, whichever parts are entered`,
      [Schema.Array(Schema.Literals(parts))],
      ([chosen]) => {
        const entered = form.filter((field) => field.isRequired === true || chosen.includes(groupOf(field)))
        // Hints are written in the smallest unit.
        const { json, problems } = bodyOf(
          form,
          Object.fromEntries(
            entered.flatMap((field) => [
              [field.name, hinted(field)],
              [unitKey(field.name), "0"]
            ])
          ),
          ether
        )
        assert.deepStrictEqual(problems, {})
        assert.deepStrictEqual(faultsOf(json), [])
      },
      options
    )

    it.prop(
      `${name} sends every value unchanged, in each unit, and finds no change in it`,
      [valuesOf(form), Schema.Literals(["evm", "solana", "stellar"])],
      ([values, type]) => {
        const unit = type === "evm" ? ether : smallestUnits[type]
        const body = bodyFrom(form, values)
        const entered = enteredOf(form, body, unit)
        assert.deepStrictEqual(bodyOf(form, entered, unit), { json: body, problems: {} })
        assert.deepStrictEqual(patchOf(form, entered, entered, unit).json, {})
      },
      options
    )
  }

  it("keeps 2^128 - 1 of the smallest unit, in each unit", () => {
    const most = (2n ** 128n - 1n).toString()
    for (const [name, form] of forms) {
      for (const field of form.filter(({ kind }) => kind === "amount")) {
        const body = put({}, field.name.split("."), most)
        for (const unit of [ether, smallestUnits.solana, smallestUnits.stellar]) {
          const { json } = bodyOf([{ ...field }], enteredOf([field], body, unit), unit)
          assert.deepStrictEqual(json, body, `${name}.${field.name}`)
        }
      }
    }
  })
})

// Makes values that match a schema of the document, and values with an invalid part.
import { DateTime } from "effect"
import { byName, byPattern, letters } from "./Fields.ts"
import * as Hostile from "./Hostile.ts"
import * as OpenApi from "./OpenApi.ts"
import type { Random } from "./Random.ts"
import type { World } from "./World.ts"

/** Signers of these types would call hosts on the Internet, or load a module of a device. Their own tests cover them. */
const elsewhere: ReadonlySet<unknown> = new Set(["aws_kms", "azure_key_vault", "google_cloud_kms", "pkcs11", "turnkey"])

const isHere = (member: OpenApi.Schema) => !elsewhere.has(OpenApi.resolve(member).properties?.["type"]?.enum?.[0])

const boundary = (random: Random, least: number, most: number) =>
  random.chance(0.3) ? random.pick([least, most]) : Math.min(most, least + random.below(100))

const string = (random: Random, world: World, schema: OpenApi.Schema, name: string): unknown => {
  const named = byName[name]
  if (named !== undefined && schema.pattern === undefined) return named(random, world)
  if (schema.pattern !== undefined) {
    const make = byPattern[schema.pattern]
    if (make === undefined) throw new Error(`Fields.ts makes no text for the pattern ${schema.pattern} of ${name}`)
    return make(random, world)
  }
  if (schema.format === "date-time")
    return DateTime.formatIso(DateTime.makeUnsafe(random.between(0, 4_000_000) * 1_000_000))
  const length = boundary(random, schema.minLength ?? 0, schema.maxLength ?? 40)
  return random.chance(0.7) ? letters(random, length, length) : "é".repeat(length)
}

const integer = (random: Random, { minimum = 0, maximum = 2 ** 53 - 1, format }: OpenApi.Schema): unknown => {
  if (format === "uint128" && random.chance(0.3)) return JSON.rawJSON(String(2n ** 128n - 1n))
  if (format === "uint64" && random.chance(0.3)) return String(2n ** 64n - 1n)
  return boundary(random, minimum, maximum)
}

/** A value that matches `schema`. `name` is the name of the field. */
export const fitting = (random: Random, world: World, given: OpenApi.Schema, name: string): unknown => {
  const schema = OpenApi.resolve(given)
  if (schema.enum !== undefined) return random.pick(schema.enum)
  const members = (schema.oneOf ?? schema.anyOf)?.filter(isHere)
  if (members !== undefined) return fitting(random, world, random.pick(members), name)
  if (schema.type !== undefined && typeof schema.type !== "string") {
    return fitting(random, world, { ...schema, type: random.pick(schema.type) }, name)
  }
  if (schema.type === "string") return string(random, world, schema, name)
  if (schema.type === "integer" || schema.type === "number") return integer(random, schema)
  if (schema.type === "boolean") return random.chance(0.5)
  if (schema.type === "null") return null
  if (schema.type === "array") {
    const count = Math.max(schema.minItems ?? 0, random.chance(0.01) ? (schema.maxItems ?? 3) : random.below(3))
    const items = random.times(count, () => fitting(random, world, schema.items ?? {}, name))
    return schema.uniqueItems === true ? [...new Set(items)] : items
  }
  if (name === "keystore") return world.keystore
  if (name === "document") return configuration(random, world)
  const required = new Set(schema.required)
  const fields = Object.entries(schema.properties ?? {}).filter(([field]) => required.has(field) || random.chance(0.4))
  return Object.fromEntries(
    fields.map(([field, of]) => {
      const inside = `${name}.${field}`
      return [field, fitting(random, world, of, byName[inside] === undefined ? field : inside)]
    })
  )
}

/** The requests that create the objects of each section of a configuration. */
const sections = {
  networks: "CreateNetworkRequest",
  notifications: "CreateNotificationRequest",
  signers: "CreateSignerRequest",
  relayers: "CreateRelayerRequest",
  api_keys: "CreateApiKeyRequest"
} as const

/** A document for a plan or an apply: the contract says only that it is an object. */
const configuration = (random: Random, world: World): unknown => {
  const section = (kind: string, request: string) => {
    const objects = random.times(random.between(1, 2), () => {
      const schema = { $ref: `#/components/schemas/${request}` }
      const { id, name, network_type, ...body } = fitting(random, world, schema, kind) as Record<string, unknown>
      if (kind === "networks") return [`${String(network_type)}:${String(name)}`, body]
      const more = { ...(name === undefined ? {} : { name }), ...(network_type === undefined ? {} : { network_type }) }
      return [String(id ?? random.pick(world.ids)), { ...body, ...more }]
    })
    return [kind, Object.fromEntries(objects)]
  }
  const chosen = Object.entries(sections).filter(() => random.chance(0.4))
  const named = chosen.map(([kind, request]) => section(kind, request))
  return { version: 1, name: random.pick(["fuzz", "other"]), ...Object.fromEntries(named) }
}

type Place = readonly [holder: Record<string, unknown>, key: string]

const places = (value: unknown): ReadonlyArray<Place> => {
  if (typeof value !== "object" || value === null || "rawJSON" in value) return []
  const holder = value as Record<string, unknown>
  return Object.keys(holder).flatMap((key) => [[holder, key] as const, ...places(holder[key])])
}

/** `value` with one invalid part. */
export const broken = (random: Random, original: unknown): unknown => {
  const value = copy(original)
  const all = places(value)
  if (all.length === 0 || random.chance(0.05)) return Hostile.value(random)
  const [holder, key] = random.pick(all)
  const change = random.below(4)
  if (change === 0 && !Array.isArray(holder)) delete holder[key]
  else if (change === 1 && !Array.isArray(holder)) holder[Hostile.text(random)] = Hostile.value(random)
  else holder[key] = Hostile.value(random)
  return value
}

/** `structuredClone` does not accept raw numbers. */
const copy = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(copy)
  if (typeof value !== "object" || value === null || "rawJSON" in value) return value
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, copy(child)]))
}

// Derives the forms of the console from openapi.json, and from the schemas of the contract what openapi.json does not say. A schema with
// a shape that no kind of field covers fails the build.
import { SchemaAST } from "effect"
import type { Schema as EffectSchema } from "effect"
import { alternatives, isSecret, requests } from "../../src/domain/configuration/Document.ts"
import { EvmPolicy, SolanaPolicy, StellarPolicy } from "../../src/domain/relayer/Policy.ts"
import { unitOf } from "../../src/domain/request/Field.ts"
import { SendEvmTransaction } from "../../src/networks/evm/rules/EvmSchemas.ts"
import { SendSolanaTransaction } from "../../src/networks/solana/rules/SolanaExchanges.ts"
import { SendStellarTransaction } from "../../src/networks/stellar/rules/StellarRequests.ts"
import type { FieldKind, Form, FormField } from "../../web/src/data/FormFields.ts"

interface Schema {
  readonly $ref?: string
  readonly type?: string | ReadonlyArray<string>
  readonly format?: string
  readonly enum?: ReadonlyArray<unknown>
  readonly anyOf?: ReadonlyArray<Schema>
  readonly oneOf?: ReadonlyArray<Schema>
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: ReadonlyArray<string>
  readonly description?: string
  readonly examples?: ReadonlyArray<unknown>
}

export interface OpenApiDocument {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** Schemas that the console has a form for. */
export const formNames = [
  "EvmPolicy",
  "SolanaPolicy",
  "StellarPolicy",
  "CreateEvmRelayerRequest",
  "CreateSolanaRelayerRequest",
  "CreateStellarRelayerRequest",
  "SendEvmTransactionRequest",
  "SendSolanaTransactionRequest",
  "SendStellarTransactionRequest",
  "DelegateRequest",
  "CreateEvmNetworkRequest",
  "CreateSolanaNetworkRequest",
  "CreateStellarNetworkRequest",
  "CreatePlainSignerRequest",
  "CreateLocalSignerRequest",
  "CreateVaultSignerRequest",
  "CreateVaultTransitSignerRequest",
  "CreatePkcs11SignerRequest",
  "CreateAwsKmsSignerRequest",
  "CreateGoogleCloudKmsSignerRequest",
  "CreateAzureKeyVaultSignerRequest",
  "CreateTurnkeySignerRequest",
  "CreateNotificationRequest",
  "CreateApiKeyRequest"
] as const

/** The requests and the policies of the forms. Their schemas say what openapi.json does not. */
const schemas: ReadonlyArray<EffectSchema.Constraint> = [
  ...Object.values(requests),
  EvmPolicy,
  SolanaPolicy,
  StellarPolicy,
  SendEvmTransaction,
  SendSolanaTransaction,
  SendStellarTransaction
]

/** The fields with their paths. A field of a list has no field in a form. */
const fieldsIn = (
  types: ReadonlyArray<SchemaAST.AST>,
  prefix = ""
): ReadonlyArray<readonly [path: string, type: SchemaAST.AST]> =>
  types
    .filter(SchemaAST.isObjects)
    .flatMap(({ propertySignatures }) => propertySignatures)
    .flatMap(({ name, type }) => {
      const path = `${prefix}${String(name)}`
      return [[path, type] as const, ...fieldsIn(alternatives(type), `${path}.`)]
    })

const fields = schemas.flatMap(({ ast }) => fieldsIn(alternatives(ast)))

/** Fields that are sent once and never shown: those that the client types as `Redacted`. */
export const secretNames: ReadonlySet<string> = new Set(
  fields.flatMap(([path, type]) => (alternatives(type).some(isSecret) ? [path] : []))
)

type Units = ReadonlyMap<string, FormField["unit"]>

const unitsIn = (type: SchemaAST.AST): Units =>
  new Map(
    fieldsIn([type]).flatMap(([path, field]) => {
      const unit = unitOf(field)
      return unit === undefined ? [] : [[path, unit] as const]
    })
  )

/**
 * Amounts that people enter in a larger unit, by the name of the schema and the path in it. Two schemas may have the same path with
 * another meaning. A schema that is not here has no amounts.
 */
const units: ReadonlyMap<string, Units> = new Map(
  schemas
    .flatMap(({ ast }) => alternatives(ast))
    .map((type) => [SchemaAST.resolveIdentifier(type) ?? "", unitsIn(type)] as const)
)

const isNull = ({ type }: Schema) => type === "null"

const typesOf = ({ type = [] }: Schema) => (typeof type === "string" ? [type] : type).filter((name) => name !== "null")

/** The schema behind references and optional values. */
const resolved = (schema: Schema, { components: { schemas } }: OpenApiDocument): Schema => {
  const about = {
    ...(schema.description === undefined ? {} : { description: schema.description }),
    ...(schema.examples === undefined ? {} : { examples: schema.examples })
  }
  if (schema.$ref !== undefined) {
    const target = schemas[schema.$ref.split("/").at(-1) ?? ""]
    if (target === undefined) throw new Error(`${schema.$ref} is no schema of openapi.json`)
    return resolved({ ...target, ...about }, { components: { schemas } })
  }
  const options = (schema.anyOf ?? schema.oneOf ?? []).filter((option) => !isNull(option))
  const [only] = options
  return options.length === 1 && only !== undefined
    ? resolved({ ...only, ...about }, { components: { schemas } })
    : schema
}

const enumOf = (schema: Schema) => schema.enum?.filter((value) => value !== null).map(String)

const isUrls = (items: Schema) => items.properties?.["url"] !== undefined

/** Calls of one transaction, which a person enters row by row. */
const isCalls = ({ properties = {} }: Schema) => ["to", "value", "data"].every((name) => name in properties)

/** Authorizations of EIP-7702. */
const isAuthorizations = ({ properties = {} }: Schema) => "y_parity" in properties

const kindOfList = (schema: Schema, document: OpenApiDocument): FieldKind => {
  const items = resolved(schema.items ?? {}, document)
  const options = (items.anyOf ?? [items]).map((option) => resolved(option, document))
  if (options.some(isUrls)) return "urls"
  if (options.some(isCalls)) return "calls"
  if (options.some(isAuthorizations)) return "authorizations"
  if (enumOf(items) !== undefined) return "choices"
  return options.every((option) => typesOf(option).includes("string")) ? "lines" : "json"
}

/** Amounts are accepted as integers and as decimal text. */
const isAmount = (options: ReadonlyArray<Schema>) => {
  const types = new Set(options.flatMap(typesOf))
  return types.has("integer") && types.has("string")
}

const kindOfOptions = (options: ReadonlyArray<Schema>, document: OpenApiDocument): FieldKind => {
  if (isAmount(options)) return "amount"
  if (options.some((option) => option.format === undefined && typesOf(option).includes("string"))) return "text"
  return options.every((option) => resolved(option, document).properties !== undefined) ? "json" : "text"
}

/** A schema that says nothing about the value, such as the parameters of a call to a node. */
const isAnything = (schema: Schema) => Object.keys(schema).every((key) => key === "description" || key === "examples")

/** A moment that is taken as unix seconds, too: its example is a date-time, as its description asks for. */
const isMoment = ({ examples = [] }: Schema): boolean =>
  examples.length > 0 && examples.every((example) => /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/.test(String(example)))

const kindOf = (name: string, schema: Schema, document: OpenApiDocument): FieldKind => {
  if (secretNames.has(name)) return "secret"
  if (isMoment(schema)) return "moment"
  const options = schema.anyOf ?? schema.oneOf
  if (options !== undefined) return kindOfOptions(options, document)
  const [type] = typesOf(schema)
  if (enumOf(schema) !== undefined) return type === "number" ? "integer" : "choice"
  if (type === "array") return kindOfList(schema, document)
  if (type === "string") return schema.format === "date-time" ? "moment" : "text"
  if (type === "integer" || type === "number" || type === "boolean") return type
  if (type === "object" || isAnything(schema)) return "json"
  throw new Error(`${name}: no field of a form covers ${JSON.stringify(schema)}`)
}

const lineOf = (item: unknown) =>
  typeof item === "object" && item !== null && "url" in item ? String(item.url) : String(item)

/** A value of the shape, made of the examples of its parts. */
const sampleOf = (schema: Schema, document: OpenApiDocument): unknown => {
  const target = resolved(schema, document)
  const [example] = target.examples ?? []
  if (example !== undefined) return example
  const [option] = target.anyOf ?? target.oneOf ?? []
  if (option !== undefined) return sampleOf(option, document)
  if (target.items !== undefined) return [sampleOf(target.items, document)]
  if (target.properties === undefined) return enumOf(target)?.[0]
  const required = (target.required ?? []).flatMap((name) => {
    const property = target.properties?.[name]
    return property === undefined ? [] : [[name, sampleOf(property, document)]]
  })
  return Object.fromEntries(required) as unknown
}

/** Kinds whose values are objects, or lists of them. */
const nested: ReadonlySet<FieldKind> = new Set(["json", "calls", "authorizations"])

const exampleOf = (schema: Schema, kind: FieldKind, document: OpenApiDocument) => {
  const [example] = nested.has(kind) ? [sampleOf(schema, document)] : (schema.examples ?? [])
  if (example === undefined) return undefined
  if (kind === "choices") return undefined
  if ((kind === "lines" || kind === "urls") && Array.isArray(example)) return example.map(lineOf).join(", ")
  return typeof example === "string" ? example : JSON.stringify(example)
}

/** Says how this contract differs from that of other services, which nobody needs to know to fill in a form. */
const addition = /\s*An addition to the common wire format\./

/** What the fields of one form share. */
interface Place {
  readonly document: OpenApiDocument
  readonly units: Units
}

const fieldOf = (name: string, schema: Schema, isRequired: boolean, { document, units }: Place): FormField => {
  const kind = kindOf(name, schema, document)
  const choices = enumOf(kind === "choices" ? resolved(schema.items ?? {}, document) : schema)
  const example = kind === "boolean" || kind === "secret" ? undefined : exampleOf(schema, kind, document)
  // All calls of a transaction are entered in one unit.
  const unit = kind === "amount" || kind === "integer" ? units.get(name) : kind === "calls" ? "native" : undefined
  const [only] = choices ?? []
  return {
    name,
    kind,
    hint: (schema.description ?? "").replace(addition, ""),
    ...(example === undefined ? {} : { example }),
    ...(isRequired ? { isRequired: true as const } : {}),
    ...(choices === undefined ? {} : { choices }),
    ...(isRequired && kind === "choice" && choices?.length === 1 && only !== undefined ? { fixed: only } : {}),
    ...(unit === undefined ? {} : { unit })
  }
}

const fieldsOf = (prefix: string, schema: Schema, isRequired: boolean, place: Place): Form =>
  Object.entries(schema.properties ?? {}).flatMap(([key, property]) => {
    const name = `${prefix}${key}`
    const target = resolved(property, place.document)
    const needed = isRequired && (schema.required ?? []).includes(key)
    return target.properties === undefined
      ? [fieldOf(name, target, needed, place)]
      : fieldsOf(`${name}.`, target, needed, place)
  })

export const formOf = (name: string, document: OpenApiDocument): Form => {
  const schema = document.components.schemas[name]
  if (schema === undefined) throw new Error(`${name} is no schema of openapi.json`)
  return fieldsOf("", schema, true, { document, units: units.get(name) ?? new Map() })
}

export const formsOf = (document: OpenApiDocument): Readonly<Record<string, Form>> =>
  Object.fromEntries(formNames.map((name) => [name, formOf(name, document)]))

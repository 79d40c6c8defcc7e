// Decodes whole documents to the objects that they contain. All problems are reported at once, each with its path.
import { Predicate, Result, Schema, SchemaAST } from "effect"
import { CreateApiKey } from "../access/ApiKey.ts"
import { mistypedIn, mistypedInNetwork, mistypedLimits } from "../chain/MistypedAddresses.ts"
import type { Limited, Mistypable } from "../chain/MistypedAddresses.ts"
import { CreateNetwork, NetworkId } from "../network/Network.ts"
import type { NetworkType } from "../network/Network.ts"
import { CreateNotification } from "../notification/Notification.ts"
import { CreateRelayer } from "../relayer/Relayer.ts"
import { pause, tokenEntry } from "../request/Change.ts"
import type { Meaning } from "../request/Change.ts"
import { documentationOf, meaningOf } from "../request/Field.ts"
import { maybe, resourceId } from "../request/Shown.ts"
import * as Violations from "../request/Violations.ts"
import { suggestionFor } from "../request/Violations.ts"
import type { Violation } from "../request/Violations.ts"
import { CreateSigner } from "../signer/CreateSigner.ts"

// The kinds of objects that a configuration contains, and the requests that create them.

/** In the order of creations: an object only refers to objects of its own kind and of earlier kinds. */
export const kinds = ["networks", "notifications", "signers", "relayers", "api_keys"] as const
export type Kind = (typeof kinds)[number]

export const ConfigurationName = resourceId.annotate({
  description: "Name of the configuration. It owns the objects of the document.",
  examples: ["payments"]
})

const WantedNotification = Schema.Struct({
  ...CreateNotification.fields,
  paused: maybe(Schema.Boolean, {
    change: pause,
    description: "Whether deliveries are held back. If absent, false at the creation and not managed afterwards.",
    examples: [false]
  })
}).annotate({ identifier: "WantedNotification" })

/** The request that creates an object of each kind. */
export const requests = {
  networks: CreateNetwork,
  notifications: WantedNotification,
  signers: CreateSigner,
  relayers: CreateRelayer,
  api_keys: CreateApiKey
} as const satisfies Record<Kind, Schema.Constraint>

/** Fields of a request that the key of the object in its section determines, so that the file does not have them. */
export const keyFields = {
  networks: ["network_type", "name"],
  notifications: ["id"],
  signers: ["id"],
  relayers: ["id"],
  api_keys: ["id"]
} as const satisfies Record<Kind, ReadonlyArray<string>>

/** Kinds whose field `paused` is not managed if a file leaves it out. */
export const pausable: ReadonlySet<Kind> = new Set(["notifications", "relayers"])

// What may be at a place of a document, read from the encoded sides of the contract's schemas.

/** Values that the schemas redact. A file refers to them and never contains them. */
export const isSecret = (ast: SchemaAST.AST): boolean => {
  if (!SchemaAST.isDeclaration(ast)) return false
  const representation: unknown = ast.annotations?.["representation"]
  return Predicate.hasProperty(representation, "id") && representation.id === "effect/schema/Redacted"
}

/** An integer that a request may write as a number or as text: wei, lamports and stroops. */
export const isAmount = (ast: SchemaAST.AST): boolean => SchemaAST.isDeclaration(ast) && !isSecret(ast)

export const isText = (ast: SchemaAST.AST): boolean =>
  SchemaAST.isString(ast) || (SchemaAST.isLiteral(ast) && typeof ast.literal === "string")

const alternativesOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> => {
  if (isSecret(ast)) return [ast]
  const { encoding } = ast
  if (encoding !== undefined) return alternatives(encoding[encoding.length - 1]?.to ?? ast)
  if (SchemaAST.isUnion(ast)) return ast.types.flatMap(alternatives)
  return SchemaAST.isNull(ast) ? [] : [ast]
}

/** A cache of `alternatives`: all objects of a kind ask for the same types. */
const known = new WeakMap<SchemaAST.AST, ReadonlyArray<SchemaAST.AST>>()

/** The types that the encoded value may have: the members of unions. A secret is one member. Null is left out. */
export const alternatives = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> => {
  const found = known.get(ast)
  if (found !== undefined) return found
  const made = alternativesOf(ast)
  known.set(ast, made)
  return made
}

/** Whether the literal fields of a struct, such as `type`, have the values of an object. Absent fields match. */
const matches = (struct: SchemaAST.Objects, valueOf: (name: string) => unknown): boolean =>
  struct.propertySignatures.every(({ name, type }) => {
    const [only, ...others] = alternatives(type)
    if (only === undefined || others.length > 0 || !SchemaAST.isLiteral(only)) return true
    const value = valueOf(String(name))
    return value === undefined || value === only.literal
  })

/** The structs that an object may be. If its discriminator names none of them, it may be any. */
export const structsOf = (
  shapes: ReadonlyArray<SchemaAST.AST>,
  valueOf: (name: string) => unknown
): ReadonlyArray<SchemaAST.Objects> => {
  const structs = shapes.filter(SchemaAST.isObjects)
  const meant = structs.filter((struct) => matches(struct, valueOf))
  return meant.length === 0 ? structs : meant
}

export const fieldOf = (structs: ReadonlyArray<SchemaAST.Objects>, name: string): ReadonlyArray<SchemaAST.AST> =>
  structs.flatMap(({ propertySignatures }) =>
    propertySignatures.filter((field) => field.name === name).flatMap(({ type }) => alternatives(type))
  )

export const namesOf = (structs: ReadonlyArray<SchemaAST.Objects>): ReadonlyArray<string> => [
  ...new Set(structs.flatMap(({ propertySignatures }) => propertySignatures.map(({ name }) => String(name))))
]

export const itemsOf = (shapes: ReadonlyArray<SchemaAST.AST>): ReadonlyArray<SchemaAST.AST> =>
  shapes.filter(SchemaAST.isArrays).flatMap(({ elements, rest }) => [...elements, ...rest].flatMap(alternatives))

/** By the paths of a request, in which `*` stands for the entries of a list. */
export type Meanings = ReadonlyMap<string, Meaning>

const addMeanings = (
  shapes: ReadonlyArray<SchemaAST.AST>,
  path: string,
  around: Meaning | undefined,
  found: Map<string, Meaning>
): void => {
  for (const { name, type } of shapes.filter(SchemaAST.isObjects).flatMap((struct) => struct.propertySignatures)) {
    const at = path === "" ? String(name) : `${path}.${String(name)}`
    const meaning = meaningOf(type) ?? around
    if (meaning !== undefined) found.set(at, meaning)
    const inside = alternatives(type)
    addMeanings(inside, at, meaning, found)
    if (meaning?.as === "tokens") found.set(`${at}.*`, tokenEntry)
    addMeanings(itemsOf(inside), `${at}.*`, undefined, found)
  }
}

/** What changes of the fields of a request mean, as its schema says it. A part that does not say its own has that of the whole. */
export const meaningsIn = (schema: SchemaAST.AST): Meanings => {
  const found = new Map<string, Meaning>()
  addMeanings(alternatives(schema), "", undefined, found)
  return found
}

const knownMeanings = new Map<Kind, Meanings>()

/** The types of an object have one table: what they share means the same. */
export const meaningsOf = (kind: Kind): Meanings => {
  const found = knownMeanings.get(kind) ?? meaningsIn(requests[kind].ast)
  knownMeanings.set(kind, found)
  return found
}

export type Members = { readonly [name: string]: unknown }

export const isMembers = (value: unknown): value is Members => Predicate.isObject(value) && !Array.isArray(value)

/** A value that stays as the service has it, or that the service generates. It stands in the place of a secret. */
type Mark = "stored" | "generate"

export interface WantedObject {
  readonly kind: Kind
  readonly id: string
  /** The decoded request that would create the object. */
  readonly request: Members
  /** Paths of secrets that the document does not contain, with what is wanted instead. */
  readonly marks: ReadonlyMap<string, Mark>
  /** Whether the document says if the object is paused. */
  readonly managesPaused: boolean
}

export interface WantedConfiguration {
  readonly name: string
  /** The sections of the document. An absent section manages nothing; an empty one may delete everything of its kind. */
  readonly sections: ReadonlySet<Kind>
  readonly objects: ReadonlyArray<WantedObject>
}

export const isKind = (name: string): name is Kind => kinds.some((kind) => kind === name)

/** The schema of a kind, on its encoded side. */
const shapesOf = (kind: Kind): ReadonlyArray<SchemaAST.AST> => alternatives(requests[kind].ast)

const networkId = /^(evm|solana|stellar):(.+)$/su

/** The fields that the key of an object determines. */
const fieldsOfKey = (kind: Kind, id: string): Members => {
  if (kind !== "networks") return { id }
  const [, network_type, name] = networkId.exec(id) ?? []
  return { network_type, name }
}

/** What the object with that key may be: a key such as `evm:sepolia` decides its type. */
export const shapesOfObject = (kind: Kind, id: string): ReadonlyArray<SchemaAST.AST> => {
  const key = fieldsOfKey(kind, id)
  return structsOf(shapesOf(kind), (name) => key[name])
}

const isId = Schema.is(resourceId)
const isNetworkId = Schema.is(NetworkId)

/** Names of members of every object of JavaScript. Documents are data of programs that may not expect them. */
const reservedIds: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"])

/** What is wrong with a key of a section. */
export const idViolation = (kind: Kind, id: string): string | undefined => {
  if (kind === "networks") {
    return isNetworkId(id) ? undefined : "expected the type and the name of a network, such as evm:sepolia"
  }
  return isId(id) && !reservedIds.has(id)
    ? undefined
    : "expected an id of 1 to 36 letters, digits, dashes and underscores"
}

const markOf = (value: unknown): Mark | undefined => {
  if (!isMembers(value) || Object.keys(value).length !== 1) return undefined
  if (value["stored"] === true) return "stored"
  return value["generate"] === true ? "generate" : undefined
}

/** A valid value for a secret that the document does not contain, so that the rest can be decoded. */
const placeholder = (type: SchemaAST.AST): unknown => {
  const encoded = type.encoding?.at(-1)?.to ?? type
  return documentationOf(encoded).example ?? documentationOf(type).example
}

/** Whether the value may contain a mark. If it contains none, its schema is not walked. */
const mayHaveMark = (value: unknown): boolean => {
  if (Array.isArray(value)) return value.some(mayHaveMark)
  return isMembers(value) && (markOf(value) !== undefined || Object.values(value).some(mayHaveMark))
}

/** Puts placeholders in the places of marks. */
const unmarked = (
  shapes: ReadonlyArray<SchemaAST.AST>,
  value: unknown,
  path: string,
  marks: Map<string, Mark>
): unknown => {
  if (Array.isArray(value)) {
    const items = itemsOf(shapes)
    return value.map((item, index) => unmarked(items, item, `${path}.${index}`, marks))
  }
  if (!isMembers(value)) return value
  const structs = structsOf(shapes, (name) => value[name])
  return Object.fromEntries(
    Object.entries(value).map(([name, child]) => {
      const at = path === "" ? name : `${path}.${name}`
      const types = structs.flatMap(({ propertySignatures }) =>
        propertySignatures.filter((field) => field.name === name)
      )
      const secret = types.find(({ type }) => alternatives(type).some(isSecret))
      const mark = markOf(child)
      if (secret === undefined || mark === undefined) {
        return [name, unmarked(fieldOf(structs, name), child, at, marks)]
      }
      marks.set(at, mark)
      return [name, placeholder(secret.type)]
    })
  )
}

const parseOptions = { errors: "all", onExcessProperty: "error" } as const

/** The decoders of all kinds, without the types of their results, which only the server needs. */
const decoders: Readonly<Record<Kind, (input: unknown) => Result.Result<object, Schema.SchemaError>>> = {
  networks: Schema.decodeUnknownResult(requests.networks, parseOptions),
  notifications: Schema.decodeUnknownResult(requests.notifications, parseOptions),
  signers: Schema.decodeUnknownResult(requests.signers, parseOptions),
  relayers: Schema.decodeUnknownResult(requests.relayers, parseOptions),
  api_keys: Schema.decodeUnknownResult(requests.api_keys, parseOptions)
}

/** The names that an object at the path may have, for suggestions. */
const knownAt = (kind: Kind, body: unknown, path: ReadonlyArray<string>): ReadonlyArray<string> => {
  let shapes = shapesOf(kind)
  let value = body
  for (const name of path) {
    if (Array.isArray(value)) {
      shapes = itemsOf(shapes)
      value = value[Number(name)]
      continue
    }
    const members = isMembers(value) ? value : {}
    shapes = fieldOf(
      structsOf(shapes, (key) => members[key]),
      name
    )
    value = members[name]
  }
  const members = isMembers(value) ? value : {}
  return namesOf(structsOf(shapes, (key) => members[key]))
}

const unknownField = "is not a known field"

/** Fields that the key of the object determines are not suggested. */
const suggest = (kind: Kind, body: unknown, { field, message }: Violation): Violation => {
  const path = field.split(".")
  const name = path.at(-1) ?? ""
  const hidden: ReadonlyArray<string> = path.length === 1 ? keyFields[kind] : []
  const known = knownAt(kind, body, path.slice(0, -1)).filter((known) => !hidden.includes(known))
  const meant = suggestionFor(name, known)
  const listed = known.length === 0 ? "" : ` (known: ${known.join(", ")})`
  return { field, message: `${message}${meant === undefined ? listed : `; did you mean ${meant}?`}` }
}

const mistypedInObject = (kind: Kind, request: Members): ReadonlyArray<Violation> => {
  if (kind === "networks") return mistypedInNetwork(request)
  if (kind === "api_keys") return mistypedLimits(request["transaction_limits"] as Limited | undefined)
  if (kind !== "relayers") return []
  return mistypedIn(request["network_type"] as NetworkType, (request["policies"] ?? {}) as Mistypable, "policies.")
}

/** Fails with what is wrong with the object. The fields are relative to it; an empty field is the object itself. */
export const decodeObject = (
  kind: Kind,
  id: string,
  body: unknown
): Result.Result<WantedObject, ReadonlyArray<Violation>> => {
  const wrongId = idViolation(kind, id)
  if (wrongId !== undefined) return Result.fail([{ field: "", message: wrongId }])
  if (!isMembers(body)) return Result.fail([{ field: "", message: "expected an object" }])
  const determined = keyFields[kind].filter((name) => body[name] !== undefined && body[name] !== null)
  if (determined.length > 0) {
    return Result.fail(
      determined.map((field) => ({ field, message: "is determined by the key of the object: remove it" }))
    )
  }
  const marks = new Map<string, Mark>()
  const managesPaused = !pausable.has(kind) || (body["paused"] !== undefined && body["paused"] !== null)
  const usual = managesPaused ? {} : { paused: false }
  const whole = { ...body, ...usual, ...fieldsOfKey(kind, id) }
  const plain = mayHaveMark(whole) ? unmarked(shapesOf(kind), whole, "", marks) : whole
  return Result.match(decoders[kind](plain), {
    onSuccess: (request) => {
      const mistyped = mistypedInObject(kind, request as Members)
      return mistyped.length > 0
        ? Result.fail(mistyped)
        : Result.succeed({ kind, id, request: request as Members, marks, managesPaused })
    },
    onFailure: ({ issue }) => {
      const { first, more } = Violations.ofIssue(issue, "")
      const short = new Map(Violations.ofIssue(issue, "", "short").first.map(({ field, message }) => [field, message]))
      const named = first.map(({ field, message }) =>
        short.get(field) === unknownField ? suggest(kind, whole, { field, message: unknownField }) : { field, message }
      )
      return Result.fail(more === 0 ? named : [...named, { field: "", message: `and ${more} more` }])
    }
  })
}

// Decodes whole documents. All problems are reported at once, each with its path.

type ViolationList = ReadonlyArray<Violation>

const isName = Schema.is(ConfigurationName)

/** Problems of the members of the document that are not sections: the version, the name and unknown members. */
export const headViolations = (input: Members): ViolationList => {
  const violations: Array<Violation> = []
  if (input["version"] !== 1) violations.push({ field: "version", message: "expected 1" })
  if (!isName(input["name"])) {
    violations.push({ field: "name", message: "expected 1 to 36 letters, digits, dashes and underscores" })
  }
  const known: ReadonlyArray<string> = ["version", "name", ...kinds]
  for (const field of Object.keys(input).filter((name) => !known.includes(name))) {
    const meant = suggestionFor(field, known)
    violations.push({ field, message: meant === undefined ? unknownField : `${unknownField}; did you mean ${meant}?` })
  }
  return violations
}

/** An object of a section, not decoded. */
interface Body {
  readonly kind: Kind
  readonly id: string
  readonly body: unknown
}

/** A document whose objects are not decoded yet. There may be thousands, so the caller decodes them in parts. */
export interface Opened {
  readonly name: string
  readonly sections: ReadonlySet<Kind>
  readonly bodies: ReadonlyArray<Body>
  readonly violations: ViolationList
}

export const open = (input: unknown): Opened => {
  const members = isMembers(input) ? input : {}
  const violations = isMembers(input)
    ? [...headViolations(members)]
    : [{ field: "document", message: "expected an object" }]
  const sections = new Set<Kind>()
  const bodies: Array<Body> = []
  for (const kind of kinds) {
    const section = members[kind]
    if (section === undefined || section === null) continue
    if (!isMembers(section)) {
      violations.push({ field: kind, message: "expected an object" })
      continue
    }
    sections.add(kind)
    for (const [id, body] of Object.entries(section)) bodies.push({ kind, id, body })
  }
  return { name: String(members["name"]), sections, bodies, violations }
}

export const decodeBody = ({ kind, id, body }: Body): Result.Result<WantedObject, ViolationList> =>
  Result.mapError(decodeObject(kind, id, body), (violations) =>
    violations.map(({ field, message }) => ({ field: `${kind}.${id}${field === "" ? "" : `.${field}`}`, message }))
  )

/** `decoded`: the decoding results of all bodies. */
export const close = (
  { name, sections, violations }: Opened,
  decoded: ReadonlyArray<Result.Result<WantedObject, ViolationList>>
): Result.Result<WantedConfiguration, ViolationList> => {
  const found = [...violations, ...decoded.flatMap((result) => (Result.isFailure(result) ? result.failure : []))]
  if (found.length > 0) return Result.fail(found)
  const objects = decoded.flatMap((result) => (Result.isSuccess(result) ? [result.success] : []))
  return Result.succeed({ name, sections, objects })
}

export const decode = (input: unknown): Result.Result<WantedConfiguration, ViolationList> => {
  const opened = open(input)
  return close(opened, opened.bodies.map(decodeBody))
}

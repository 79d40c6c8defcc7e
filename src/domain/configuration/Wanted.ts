// The objects of a document after all references are resolved. The command checks them before it sends them to the service.
import { Predicate, Result, Schema } from "effect"
import type { SchemaAST } from "effect"
import { NetworkId } from "../network/NetworkId.ts"
import * as Documentation from "../request/Documentation.ts"
import { resourceId } from "../request/Text.ts"
import * as Violations from "../request/Violations.ts"
import type { Violation } from "../request/Violations.ts"
import { keyFields, kinds, pausable, requests } from "./Kinds.ts"
import type { Kind } from "./Kinds.ts"
import { alternatives, fieldOf, isSecret, itemsOf, namesOf, structsOf } from "./Shape.ts"
import { suggestionFor } from "../request/Suggestion.ts"

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
  return Documentation.of(encoded).example ?? Documentation.of(type).example
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

export const unknownField = "is not a known field"

const suggest = (kind: Kind, body: unknown, { field, message }: Violation): Violation => {
  if (message !== unknownField) return { field, message }
  const path = field.split(".")
  const name = path.at(-1) ?? ""
  const hidden: ReadonlyArray<string> = path.length === 1 ? keyFields[kind] : []
  const meant = suggestionFor(
    name,
    knownAt(kind, body, path.slice(0, -1)).filter((known) => !hidden.includes(known))
  )
  return { field, message: meant === undefined ? message : `${message}; did you mean ${meant}?` }
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
  return Result.mapBoth(decoders[kind](plain), {
    onSuccess: (request) => ({ kind, id, request: request as Members, marks, managesPaused }),
    onFailure: ({ issue }) => {
      const { first, more } = Violations.ofIssue(issue, "")
      const named = first.map((violation) => suggest(kind, whole, violation))
      return more === 0 ? named : [...named, { field: "", message: `and ${more} more` }]
    }
  })
}

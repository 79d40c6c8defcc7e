// What a command derives from the endpoint that it calls: arguments from the path, flags from the query and the body, and the request.
import { Context, Effect, Option, Predicate, Schema, SchemaAST } from "effect"
import { Argument, Flag } from "effect/cli"
import type { Command } from "effect/cli"
import { HttpApi, OpenApi } from "effect/http-api"
import type { HttpApiEndpoint } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import type { Client } from "../../client/ApiClient.ts"
import type { SuccessOf as SuccessOfMethod } from "../../client/Method.ts"
import { documentationOf, fieldsAt, unionMembers } from "../../domain/request/Field.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import * as Field from "./Field.ts"
import { typesOf } from "./Field.ts"
import { CommandFailed } from "./Terminal.ts"

type Names = { readonly [G in keyof Client]: `${G}.${keyof Client[G] & string}` }

/** An endpoint of the contract, such as `relayers.get`. */
export type Operation = Names[keyof Client]

/** What its response decodes to. */
export type SuccessOf<O extends Operation> = O extends `${infer Group}.${infer Name}`
  ? SuccessOfMethod<Group, Name>
  : never

type Body = Schema.ConstraintDecoder<unknown> & Schema.Top

/** Where a command differs from the contract. Fields are named by their path, such as `config.key_name`. */
export interface Shape {
  /** Objects whose fields have flags too, and single fields in others. Only the fields of the request itself have flags otherwise. */
  readonly nested?: ReadonlyArray<string>
  /** Other names of flags and arguments, and flags that read a field in another way. */
  readonly flags?: Readonly<Record<string, string | Flag.Flag<Option.Option<unknown>>>>
  /** Lists of objects that have a flag, and how its text is read. */
  readonly texts?: Readonly<Record<string, Field.ReadText>>
  /** Fields without a flag. */
  readonly hidden?: ReadonlyArray<string>
  /** Parameters of the query without a flag, with their values. */
  readonly fixed?: Readonly<Record<string, string>>
  /** The schema of the body, if the body of the contract is one of several. */
  readonly body?: Body
  /** Describes the fields in `nested` if the body has a merge patch in their place. */
  readonly like?: Schema.Top
  /** The whole body, which has no flags then. */
  readonly payload?: Readonly<Record<string, unknown>>
  /** Fields of bodies that do not have them. */
  readonly defaults?: Readonly<Record<string, unknown>>
}

const endpoints = new Map<string, HttpApiEndpoint.Top>()

HttpApi.reflect(Api, {
  onGroup: () => undefined,
  onEndpoint: ({ endpoint, group }) => void endpoints.set(`${group.identifier}.${endpoint.identifier}`, endpoint)
})

/** The schema of the JSON in a body: the body itself is its text. */
const bodyOf = ({ payload }: HttpApiEndpoint.Top): Body | undefined => {
  const [text] = [...payload.values()].flatMap(({ schemas }) => [...schemas])
  return Predicate.hasProperty(text, "to") && Schema.isSchema(text.to) ? (text.to as Body) : undefined
}

// The flag of a field, by its type.

const isSecret = (type: SchemaAST.AST): boolean =>
  SchemaAST.isDeclaration(type) && type.annotations?.["expected"] === "Redacted"

/** What one argument of the command line can be. */
const isScalar = (type: SchemaAST.AST): boolean =>
  !SchemaAST.isObjects(type) && !SchemaAST.isArrays(type) && !SchemaAST.isNever(type) && !SchemaAST.isUnknown(type)

const literalsOf = (types: ReadonlyArray<SchemaAST.AST>) =>
  types.every(SchemaAST.isLiteral) ? [...new Set(types.map(({ literal }) => literal))] : []

/** `decoded`: a parameter of a query is a text, whose type says what it means. Undefined: there is nothing to choose. */
const scalarFlag = (
  name: string,
  encoded: ReadonlyArray<SchemaAST.AST>,
  decoded: ReadonlyArray<SchemaAST.AST>
): Flag.Flag<unknown> | undefined => {
  if (decoded.some(SchemaAST.isBoolean)) return Flag.Boolean(name)
  if (decoded.some(SchemaAST.isNumber)) return Flag.Int(name)
  const literals = literalsOf(encoded)
  if (literals.length === 1) return undefined
  if (literals.length === 0) return Flag.String(name)
  return literals.every(Predicate.isNumber) ? Flag.Int(name) : Flag.Literals(name, literals.map(String))
}

const elementsOf = (types: ReadonlyArray<SchemaAST.AST>) =>
  types.filter(SchemaAST.isArrays).flatMap(({ rest }) => rest.flatMap(typesOf))

/** In a merge patch, an empty text removes a field that can be removed. */
const orNull = Flag.map(Option.map((value: unknown) => (value === "" ? null : value)))

const fieldFlag = (name: string, { ast }: Schema.Top, path: string): Flag.Flag<Option.Option<unknown>> | undefined => {
  const keys = path.split(".")
  const types = fieldsAt(ast, keys)
  const encoded = fieldsAt(SchemaAST.toEncoded(ast), keys).flatMap(typesOf)
  const decoded = types.flatMap(typesOf)
  const scalars = encoded.filter(isScalar)
  if (scalars.length === 0) {
    const flag = scalarFlag(name, elementsOf(encoded).filter(isScalar), elementsOf(decoded))
    return elementsOf(encoded).some(isScalar) && flag !== undefined ? Field.many(flag) : undefined
  }
  const scalar = scalarFlag(name, scalars, decoded)
  if (scalar === undefined) return undefined
  const isRemovable = types.some((type) => SchemaAST.isUnion(type) && type.types.some(SchemaAST.isNull))
  return isRemovable ? orNull(Flag.optional(scalar)) : Flag.optional(scalar)
}

const isSecretAt = ({ ast }: Schema.Top, path: string): boolean =>
  fieldsAt(ast, path.split(".")).flatMap(typesOf).some(isSecret)

/** The paths of the fields below `path`, or the path itself if it is no object. Empty: the fields of the object are not known. */
const pathsIn = ({ ast }: Schema.Top, path: string): ReadonlyArray<string> => {
  const found = fieldsAt(SchemaAST.toEncoded(ast), path === "" ? [] : path.split(".")).flatMap(unionMembers)
  const names = found.flatMap(({ propertySignatures }) => propertySignatures.map(({ name }) => String(name)))
  if (path !== "" && fieldsAt(ast, path.split(".")).flatMap(typesOf).some(isScalar)) return [path]
  return [...new Set(names)].map((name) => (path === "" ? name : `${path}.${name}`))
}

/** Repeated flags have the name of one element: `--tag` for `tags`. */
const singular = (path: string, { ast }: Schema.Top): string =>
  fieldsAt(SchemaAST.toEncoded(ast), path.split(".")).flatMap(typesOf).every(SchemaAST.isArrays)
    ? path.replace(/s$/, "")
    : path

/** The name of a field without the object that it is in: `--key-name` for `config.key_name`. */
const usualName = (path: string, schema: Schema.Top): string =>
  Field.flagName(singular(path, schema).replace(/^[^.]+\./, ""))

type Flags = Record<string, Flag.Flag<Option.Option<unknown>>>

/** The flags of the body, by the paths of the fields. Secrets are read from files. */
const bodyFlags = (body: Schema.Top, { flags = {}, hidden = [], like = body, nested = [], texts = {} }: Shape) => {
  const fields: Flags = {}
  const secrets: Record<string, Flag.Flag<Option.Option<string>>> = {}
  const names: Record<string, string> = {}
  const sources = ["", ...nested].flatMap((from) => {
    const own = pathsIn(body, from)
    return own.length === 0
      ? pathsIn(like, from).map((path) => [like, path] as const)
      : own.map((path) => [body, path] as const)
  })
  for (const [schema, path] of sources) {
    const given = flags[path]
    if (hidden.includes(path)) continue
    if (isSecretAt(schema, path)) {
      secrets[path] = Field.describe(schema, path, Field.secret(path), true)
      names[path] = Field.fileFlag(path)
      continue
    }
    const read = texts[path]
    if (read !== undefined) {
      names[path] = Field.flagName(path)
      fields[path] = Field.describeText(schema, path, Field.fromText(Field.flagName(path), read))
      continue
    }
    const name = typeof given === "string" ? given : usualName(path, schema)
    const flag = typeof given === "object" ? given : fieldFlag(name, schema, path)
    if (flag === undefined) continue
    fields[path] = typeof given === "object" ? flag : Field.describe(schema, path, flag)
    names[path] = name
  }
  return { fields, secrets, names }
}

const queryFlags = (query: Schema.Top | undefined, { fixed = {}, flags = {}, hidden = [] }: Shape): Flags => {
  if (query === undefined) return {}
  const found: Flags = {}
  for (const path of pathsIn(query, "")) {
    const given = flags[path]
    if (path in fixed || hidden.includes(path) || typeof given === "object") continue
    const flag = fieldFlag(given ?? Field.flagName(path), query, path)
    if (flag !== undefined) found[path] = Field.describe(query, path, flag)
  }
  return found
}

/** The parameters of a path in their order. The last one is the resource. */
const pathArguments = (
  { params, path }: HttpApiEndpoint.Top,
  { flags = {} }: Shape
): Record<string, Argument.Argument<unknown>> => {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => name)
  return Object.fromEntries(
    names.flatMap((name, index) =>
      (params === undefined ? [] : fieldsAt(params.ast, [name])).map((type) => {
        const renamed = flags[name]
        const usual = index === names.length - 1 ? "id" : name.replace(/_id$/, "")
        const { description = "", example } = documentationOf(SchemaAST.toEncoded(type))
        const argument = Argument.String(typeof renamed === "string" ? renamed : usual).pipe(
          Argument.withDescription(`${description}${example === undefined ? "" : ` Example: ${String(example)}`}`),
          Argument.withSchema(Schema.make<Schema.Codec<unknown, string>>(type))
        )
        return [name, argument] as const
      })
    )
  )
}

/** `--if-match 12.3` means `--if-match '"12.3"'`. */
const ifMatch = Field.text("if_match").pipe(
  Flag.withDescription("Entity tag that the resource must still have; get prints it"),
  Flag.map(Option.map((text) => (/^[\w.-]+$/.test(text) ? `"${text}"` : text)))
)

const decode = (schema: Schema.Top, value: unknown) =>
  Schema.decodeUnknownEffect(schema as Schema.Codec<Request["query"]>, { errors: "all", onExcessProperty: "error" })(
    value
  ).pipe(Effect.mapError(({ issue }) => CommandFailed.usage(BadRequest.fromIssue(issue, "the request").error ?? "")))

/** The parameter of a query is a text, or a list of texts. */
const parameter = (value: unknown): unknown => (Array.isArray(value) ? value.map(String) : String(value))

export type Request = Readonly<Record<"params" | "query" | "headers" | "payload", Readonly<Record<string, unknown>>>>

type CommandInput = Command.Command.Config.Infer<ReturnType<typeof configOf>["config"]>

const configOf = (endpoint: HttpApiEndpoint.Top, shape: Shape) => {
  const body = shape.payload === undefined ? (shape.body ?? bodyOf(endpoint)) : undefined
  const data: Record<string, Flag.Flag<Option.Option<string>>> = body === undefined ? {} : { data: Field.data(body) }
  const headers: Record<string, Flag.Flag<Option.Option<string>>> = endpoint.headers !== undefined &&
  pathsIn(endpoint.headers, "").includes("if-match")
    ? { "if-match": ifMatch }
    : {}
  const { fields, secrets, names } =
    body === undefined ? { fields: {}, secrets: {}, names: {} } : bodyFlags(body, shape)
  const config = {
    params: pathArguments(endpoint, shape),
    headers,
    query: queryFlags(endpoint.query, shape),
    data,
    fields,
    secrets
  }
  return { config, names }
}

const endpointOf = (operation: Operation): HttpApiEndpoint.Top => {
  const found = endpoints.get(operation)
  if (found === undefined) throw new Error(`the contract has no endpoint ${operation}`)
  return found
}

/** The call of an endpoint. `A`: what its response decodes to. */
export const call = <A>(operation: Operation, shape: Shape = {}) => {
  const endpoint = endpointOf(operation)
  const isPatch = endpoint.method === "PATCH"
  const usual = shape.body ?? bodyOf(endpoint)
  const { config, names } = configOf(endpoint, shape)

  /** The parameters of the query as the client takes them. */
  const query = (values: Readonly<Record<string, unknown>>) => {
    const sent = Object.entries({ ...values, ...shape.fixed }).filter(([, value]) => value !== undefined)
    const texts = Object.fromEntries(sent.map(([name, value]) => [name, parameter(value)]))
    return endpoint.query === undefined ? Effect.succeed<Request["query"]>({}) : decode(endpoint.query, texts)
  }

  const payload = (body: Body, { data, fields, secrets }: CommandInput) => {
    const flags = { data: data["data"] ?? Option.none(), fields, secrets }
    return isPatch ? Field.readPatch(body, flags) : Field.readBody(body, flags, shape.defaults, names)
  }

  return {
    isRead: endpoint.method === "GET",
    /** The arguments and flags, for `Command.make`. */
    config,
    /** What the contract says that the endpoint does. `more`: follows its summary. */
    about: (more = "") => {
      const summary = Context.getOrUndefined(endpoint.annotations, OpenApi.Summary) ?? operation
      const description = Context.getOrUndefined(endpoint.annotations, OpenApi.Description) ?? ""
      return `${summary}${more}. ${Field.inShort(description)}`.trim()
    },
    query,
    /** `body`: the schema of this request, if it is one of several. */
    request: Effect.fnUntraced(function* (given: CommandInput, body: Body | undefined = usual) {
      return {
        params: given.params,
        query: yield* query(Field.given(given.query)),
        headers: Field.given(given.headers),
        payload: body === undefined || shape.payload !== undefined ? (shape.payload ?? {}) : yield* payload(body, given)
      } as Request
    }),
    /** The types of the client are those of the contract, which has checked the request. */
    send: (client: Client, request: Partial<Request>) => {
      const [group = "", name = ""] = operation.split(".")
      const methods: object = Reflect.get(client, group)
      const method: (request: Partial<Request>) => Effect.Effect<A, unknown> = Reflect.get(methods, name)
      return method(request)
    }
  }
}

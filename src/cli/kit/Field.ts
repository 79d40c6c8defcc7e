// Flags for the fields of a request, with the names of the fields: their help, the body that they make, and errors of usage.
import {
  Console,
  Context,
  Effect,
  Option,
  Predicate,
  Result,
  Schema,
  SchemaAST,
  SchemaIssue,
  SchemaTransformation
} from "effect"
import * as Json from "../../api/Json.ts"
import { CliOutput, Flag } from "effect/cli"
import type { CliError } from "effect/cli"
import * as ExactJson from "../../domain/request/ExactJson.ts"
import { documentationOf, fieldsAt, tagOf, unionMembers } from "../../domain/request/Field.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import * as Violations from "../../domain/request/Violations.ts"
import { jsonProblem, placeText } from "../configuration/Tree.ts"
import { CommandFailed, pathFlag, readText, standardInput } from "./Terminal.ts"

export const flagName = (path: string): string => path.replaceAll(/[._]/g, "-")

export const text = (field: string) => Flag.optional(Flag.String(flagName(field)))

/** Decoded with the schema that the service uses. */
export const of = <A>(field: string, schema: Schema.Codec<A, string>) =>
  Flag.String(flagName(field)).pipe(Flag.withSchema(schema), Flag.optional)

/** The flags that read secrets, so that none is on the command line. */
const secretFlags: ReadonlySet<string> = new Set([
  "api-private-key-file",
  "client-secret-file",
  "keystore-file",
  "passphrase-file",
  "pin-file",
  "private-key-file",
  "role-id-file",
  "secret-id-file",
  "service-account-private-key-file",
  "signing-key-file"
])

/** They are named after the fields: `config.pin` is `--pin-file`. */
export const fileFlag = (path: string) =>
  path === "config.key" ? "private-key-file" : `${flagName(path.replace(/^config\./, ""))}-file`

/** The content of a file. A secret without an entry in `secretFlags` would not be explained to a user who gives it as a value. */
export const secret = (path: string) => {
  const name = fileFlag(path)
  if (!secretFlags.has(name)) throw new Error(`--${name} is no entry of the flags that read secrets`)
  return Flag.optional(pathFlag(name))
}

/** The flag that reads the secret for which `option`, such as `--pin`, would be. */
const secretFlagOf = (option: string): string | undefined =>
  secretFlags.has(`${option.replace(/^--/, "")}-file`) ? `${option}-file` : undefined

/** The text of a flag, or the file that it names, from which a field is read. */
class TextToRead {
  readonly given: string
  readonly read: ReadText
  constructor(given: string, read: ReadText) {
    this.given = given
    this.read = read
  }
}

/** Reads a text as the value of a field, or says what was expected. */
export type ReadText = (text: string) => { readonly value: unknown } | { readonly expected: string }

/** A flag for a list of objects: its value as JSON, a file with it, or standard input. */
export const fromText = (name: string, read: ReadText) =>
  Flag.String(name).pipe(
    Flag.withMetavar("<json|@file|@->"),
    Flag.map((given) => new TextToRead(given, read)),
    Flag.optional
  )

/** A flag that may be repeated. */
export const many = <A>(flag: Flag.Flag<A>) =>
  flag.pipe(
    Flag.atLeast(0),
    Flag.map((values) => (values.length === 0 ? Option.none() : Option.some(values)))
  )

type Values<Options> = {
  readonly [K in keyof Options]?: Options[K] extends Option.Option<infer A> ? A : never
}

/** The fields whose flags were used. */
export const given = <Options extends Readonly<Record<string, Option.Option<unknown>>>>(
  options: Options
): Values<Options> =>
  Object.fromEntries(
    Object.entries(options).flatMap(([field, value]) => (Option.isSome(value) ? [[field, value.value]] : []))
  ) as Values<Options>

// The help of flags that set fields of a request, from the descriptions and examples of the request's schema.

/** What the field is, and what happens without the flag. `effect-relayer openapi NAME` prints the other sentences. */
export const inShort = (description: string): string => {
  const [first = "", ...others] = description.split(/(?<=\.) (?=[A-Z`])/)
  return [first, ...others.filter((sentence) => /^(If absent,|The default )/.test(sentence))].join(" ")
}

/** Longer ones, such as public keys, do not help on a terminal. A hash has 66 characters. */
const maxExampleLength = 66

const isScalar = (value: unknown): value is string | number => typeof value === "string" || typeof value === "number"

export const typesOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> =>
  SchemaAST.isUnion(ast) ? ast.types.flatMap(typesOf) : SchemaAST.isNull(ast) ? [] : [ast]

const itemsOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> =>
  typesOf(ast).flatMap((type) => (SchemaAST.isArrays(type) ? type.rest.flatMap(typesOf) : [type]))

/** The help of a flag with choices ends with the choices, so that it needs no example. */
const exampleOf = (field: SchemaAST.AST): ReadonlyArray<string> => {
  const { default: value, example } = documentationOf(field)
  if (isScalar(value)) return [`The default is ${value}.`]
  const [one] = Array.isArray(example) ? example : [example]
  if (!isScalar(one) || itemsOf(field).every(SchemaAST.isLiteral)) return []
  return String(one).length > maxExampleLength ? [] : [`Example: ${one}`]
}

const usageOf = (field: SchemaAST.AST, path: string): ReadonlyArray<string> => {
  const types = typesOf(field)
  return [
    ...(types.some(SchemaAST.isBoolean) ? [`--no-${path.replaceAll("_", "-")} means no.`] : []),
    ...(types.some(SchemaAST.isArrays) ? ["May be repeated."] : []),
    ...exampleOf(field)
  ]
}

/** The help of a flag for the field at `path`. Fields that only some members of a union have name these members. */
const helpOf = (request: SchemaAST.AST, path: string, isFile: boolean): string => {
  const members = unionMembers(SchemaAST.toEncoded(request))
  const found = members.flatMap((member) =>
    fieldsAt(member, path.split(".")).map((field) => ({
      field,
      tag: tagOf(member),
      text: inShort(documentationOf(field).description ?? "")
    }))
  )
  const texts = [...Map.groupBy(found, ({ text }) => text)].map(([text, same]) =>
    same.length < members.length ? `${same.map(({ tag }) => tag).join(", ")}: ${text}` : text
  )
  const isCommon = texts.length === 1 && !isFile
  return [...texts, ...found.slice(0, isCommon ? 1 : 0).flatMap(({ field }) => usageOf(field, path))].join(" ")
}

/** `path`: of the field that the flag sets, such as `config.key_name`. An example of a secret would look like the name of its file. */
export const describe = <A>({ ast }: Schema.Top, path: string, flag: Flag.Flag<A>, isFile = false): Flag.Flag<A> =>
  Flag.withDescription(flag, helpOf(ast, path, isFile))

/** The same for a flag whose text has a whole list. */
export const describeText = <A>({ ast }: Schema.Top, path: string, flag: Flag.Flag<A>): Flag.Flag<A> => {
  const [field] = fieldsAt(SchemaAST.toEncoded(ast), path.split("."))
  const { description = "" } = field === undefined ? {} : documentationOf(field)
  return Flag.withDescription(flag, inShort(description))
}

// Durations as users write them: `45s`, `30m`, `12h`, `30d`, `2w`.

const seconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 }

const expected = "a duration such as 45s, 30m, 12h, 30d or 2w"

/** In seconds. */
export const Lifetime = Schema.String.pipe(
  Schema.decodeTo(
    Schema.Int,
    SchemaTransformation.transformEffect({
      decode: (text: string, options) => {
        const [, count, unit = ""] = /^(\d{1,9})([smhdw])$/.exec(text) ?? []
        return count === undefined
          ? Effect.fail(new SchemaIssue.InvalidValue({ expected }, text, options))
          : Effect.succeed(Number(count) * (seconds[unit] ?? 0))
      },
      encode: (span: number) => Effect.succeed(`${span}s`)
    })
  )
)

// Builds the request body of a command from `--data`, flags and files with secrets. Flags take precedence over `--data`.

/** `schema`: of the request, whose name is that in the OpenAPI document. */
export const data = (schema: Schema.Top) =>
  Flag.String("data").pipe(
    Flag.withMetavar("<json|@file|@->"),
    Flag.withDescription(
      "The request as JSON, from a file, or from standard input; flags take precedence. " +
        `\`effect-relayer openapi ${Schema.resolveAnnotations(schema)?.identifier ?? ""}\` describes every field`
    ),
    Flag.optional
  )

interface BodyFlags {
  readonly data: Option.Option<string>
  readonly fields: Readonly<Record<string, Option.Option<unknown>>>
  /** Names of files. */
  readonly secrets: Readonly<Record<string, Option.Option<string>>>
}

type Members = Readonly<Record<string, unknown>>

const isMembers = (value: unknown): value is Members => Predicate.isObject(value) && !Array.isArray(value)

const membersOf = (value: unknown): Members => (isMembers(value) ? value : {})

const at = (value: unknown, path: string): unknown =>
  path.split(".").reduce((inside: unknown, key) => membersOf(inside)[key], value)

const set = (target: unknown, [key = "", ...rest]: ReadonlyArray<string>, value: unknown): Members => {
  const members = membersOf(target)
  return { ...members, [key]: rest.length === 0 ? value : set(members[key], rest, value) }
}

const textOf = (given: string) => {
  if (!given.startsWith("@")) return Effect.succeed(given)
  return given === "@-" ? standardInput : readText(given.slice(1))
}

/** `given`: the value of the flag, which names the file. */
const parse = (given: string, text: string) =>
  Effect.try({
    try: () => ExactJson.parse(text),
    catch: () => {
      const place = jsonProblem(given.slice(1), text)?.place
      const isFile = given.startsWith("@") && given !== "@-" && place !== undefined
      return CommandFailed.usage(`--data: expected JSON${isFile ? ` (${placeText(place)})` : ""}`)
    }
  }).pipe(Effect.filterOrElse(isMembers, () => Effect.fail(CommandFailed.usage("--data: expected a JSON object"))))

const valueIn = Effect.fnUntraced(function* (path: string, { given, read }: TextToRead) {
  const found = read(yield* textOf(given))
  return "value" in found ? found.value : yield* CommandFailed.usage(`--${flagName(path)}: expected ${found.expected}`)
})

const whole = Effect.fnUntraced(function* ({ data, fields, secrets }: BodyFlags, defaults: Members) {
  let body: Members = {
    ...defaults,
    ...(Option.isNone(data) ? {} : yield* parse(data.value, yield* textOf(data.value)))
  }
  const isInline = Option.exists(data, (given) => !given.startsWith("@"))
  for (const [path, file] of Object.entries(secrets)) {
    const inline = isInline ? at(body, path) : undefined
    if (inline !== undefined && inline !== null && inline !== "") {
      return yield* CommandFailed.usage(
        `${path} is a secret, and other users can read the command line: use --data @file or --${fileFlag(path)}`
      )
    }
    // Editors and `echo` add a newline at the end, which is not part of the secret.
    if (Option.isSome(file)) {
      body = set(body, path.split("."), (yield* readText(file.value)).replace(/\r?\n$/, ""))
    }
  }
  for (const [path, field] of Object.entries(fields)) {
    if (Option.isNone(field)) continue
    const { value } = field
    body = set(body, path.split("."), value instanceof TextToRead ? yield* valueIn(path, value) : value)
  }
  return body
})

/** The flags of a body: names of flags by the paths of the fields that they set. */
export type FlagNames = Readonly<Record<string, string>>

const strict = { errors: "all", onExcessProperty: "error" } as const

/** A field that has no flag keeps its path, and so does one of `--data`. */
const nameOf = (field: string, { data }: BodyFlags, names: FlagNames): string => {
  const name = names[field]
  return name === undefined || Option.isSome(data) ? field : `--${name}`
}

/** Reports problems like the service, field by field. A field is named by its flag, and a part that is absent by the flags of its fields. */
export const readBody = Effect.fnUntraced(function* <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  given: BodyFlags,
  defaults: Members = {},
  names: FlagNames = {}
) {
  const decode = (body: Members) => Effect.result(Json.decodeValue(schema)(body, strict))
  const body = yield* whole(given, defaults)
  const decoded = yield* decode(body)
  if (Result.isSuccess(decoded)) return decoded.success
  const absent = Violations.ofIssue(decoded.failure.issue, "").first.filter(
    ({ field, message }) =>
      message.startsWith("is required") && Object.keys(names).some((path) => path.startsWith(`${field}.`))
  )
  const filled = absent.reduce((body, { field }) => set(body, field.split("."), {}), body)
  const again = absent.length === 0 ? decoded : yield* decode(filled)
  const { issue } = Result.isFailure(again) ? again.failure : decoded.failure
  const found = Violations.ofIssue(issue, "the request").first.map(({ field, message }) => ({
    field: nameOf(field, given, names),
    message
  }))
  return yield* CommandFailed.usage(BadRequest.of(found).error ?? "")
})

/** For a change, which must have at least one field. */
export const readPatch = Effect.fnUntraced(function* <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  given: BodyFlags
) {
  const nothing = [given.data, ...Object.values(given.fields), ...Object.values(given.secrets)].every(Option.isNone)
  return nothing
    ? yield* CommandFailed.usage("there is nothing to change: use --data or a flag")
    : yield* readBody(schema, given)
})

// Words an invalid command line: one line with the problems, and the command that prints the help.

/** What the help of a command ends with, as an annotation of the command. */
export const Notes = Context.Reference("effect-relayer/cli/kit/Field/Notes", { defaultValue: () => "" })

/** Prints help only: `explain` reports the problems. */
export const layerUsage = CliOutput.layerPresenter({
  present: (event) => {
    if (event._tag === "InvalidInvocation") return Effect.void
    const notes = event._tag === "Help" ? Context.get(event.helpDoc.annotations, Notes) : ""
    const printed = CliOutput.defaultPresenter.present(event)
    return notes === "" ? printed : Effect.andThen(printed, Console.log(`\n${notes}`))
  }
})

/** The suggestions of the library are on separate lines. */
const onOneLine = (message: string): string =>
  message
    .replace("Schema validation failed: Expected ", "")
    .replace("Expected: Path does not exist: ", "There is no file ")
    .replace(/\s*\n\s*Did you mean this\?\s*/, "; did you mean: ")
    .trim()
    .replaceAll(/\s*\n\s*/g, ", ")

/** A flag with a secret would be read by other users of the machine, so that there is one for a file only. */
const mistakeOf = (error: CliError.NonShowHelpErrors): string => {
  const flag = error._tag === "UnrecognizedOption" ? secretFlagOf(error.option) : undefined
  return flag === undefined
    ? onOneLine(error.message)
    : `${error.message.split("\n")[0]}: it is a secret, and other users can read the command line; use ${flag} FILE`
}

/** Help without a problem is not a failure: the user asked for it. */
export const explainUsage = ({ commandPath, errors }: CliError.ShowHelp): Effect.Effect<void, CommandFailed> => {
  if (errors.length === 0) return Effect.void
  const mistakes = errors.map(mistakeOf).join("; ")
  return Effect.fail(CommandFailed.usage(`${mistakes}. See: ${commandPath.join(" ")} --help`))
}

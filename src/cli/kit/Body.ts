// Builds the request body of a command from `--data`, flags and files with secrets. Flags take precedence over `--data`.
import { Effect, Option, Predicate, Schema } from "effect"
import { Flag } from "effect/cli"
import * as ExactJson from "../../domain/request/ExactJson.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import { CommandFailed } from "./CommandFailed.ts"
import * as Help from "./Help.ts"
import * as Input from "./Input.ts"

/** `name`: of the schema in the OpenAPI document. */
const data = (name: string) =>
  Flag.String("data").pipe(
    Flag.withMetavar("<json|@file|@->"),
    Flag.withDescription(
      "The request as JSON, from a file, or from standard input; flags take precedence. " +
        `\`effect-relayer openapi ${name}\` describes every field`
    ),
    Flag.optional
  )

/** `schema`: of the request. `fields` and `secrets` are named by their path in it, such as `config.key_name`. */
export const config = <
  Fields extends Readonly<Record<string, Flag.Flag<Option.Option<unknown>>>>,
  Secrets extends Readonly<Record<string, Flag.Flag<Option.Option<string>>>>
>(
  schema: Schema.Top,
  fields: Fields,
  secrets: Secrets
) => ({
  data: data(Schema.resolveAnnotations(schema)?.identifier ?? ""),
  fields: Help.describe(schema, fields),
  secrets: Help.describeFiles(schema, secrets)
})

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
  return given === "@-" ? Input.standardInput : Input.readText(given.slice(1))
}

const parse = (text: string) =>
  Effect.try({ try: () => ExactJson.parse(text), catch: () => CommandFailed.usage("--data: expected JSON") }).pipe(
    Effect.filterOrElse(isMembers, () => Effect.fail(CommandFailed.usage("--data: expected a JSON object")))
  )

/** The flags that read secrets from files are named after the fields: `config.pin` is `--pin-file`. */
const fileFlag = (path: string) => `--${path.replace(/^config\./, "").replaceAll(/[._]/g, "-")}-file`

const whole = Effect.fnUntraced(function* ({ data, fields, secrets }: BodyFlags, defaults: Members) {
  let body: Members = { ...defaults, ...(Option.isNone(data) ? {} : yield* parse(yield* textOf(data.value))) }
  const isInline = Option.exists(data, (given) => !given.startsWith("@"))
  for (const [path, file] of Object.entries(secrets)) {
    const inline = isInline ? at(body, path) : undefined
    if (inline !== undefined && inline !== null && inline !== "") {
      return yield* CommandFailed.usage(
        `${path} is a secret, and other users can read the command line: use --data @file or ${path === "config.key" ? "--private-key-file" : fileFlag(path)}`
      )
    }
    // Editors and `echo` add a newline at the end, which is not part of the secret.
    if (Option.isSome(file)) {
      body = set(body, path.split("."), (yield* Input.readText(file.value)).replace(/\r?\n$/, ""))
    }
  }
  for (const [path, field] of Object.entries(fields)) {
    if (Option.isSome(field)) body = set(body, path.split("."), field.value)
  }
  return body
})

/** Reports problems like the service, field by field. */
export const read = Effect.fnUntraced(function* <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  given: BodyFlags,
  defaults: Members = {}
) {
  const body = yield* whole(given, defaults)
  return yield* Schema.decodeEffect(schema, { errors: "all", onExcessProperty: "error" })(body).pipe(
    Effect.mapError(({ issue }) => CommandFailed.usage(BadRequest.fromIssue(issue, "the request").error ?? ""))
  )
})

/** For a change, which must have at least one field. */
export const patch = Effect.fnUntraced(function* <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  given: BodyFlags
) {
  const nothing = [given.data, ...Object.values(given.fields), ...Object.values(given.secrets)].every(Option.isNone)
  return nothing
    ? yield* CommandFailed.usage("there is nothing to change: use --data or a flag")
    : yield* read(schema, given)
})

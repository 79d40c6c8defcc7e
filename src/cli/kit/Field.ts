// Flags for the fields of a request, with the names of the fields. `Help.ts` describes them.
import { Option } from "effect"
import type { Schema } from "effect"
import { Flag } from "effect/cli"
import * as Input from "./Input.ts"

const flagName = (field: string): string => field.replaceAll("_", "-")

export const text = (field: string) => Flag.optional(Flag.String(flagName(field)))

/** Decoded with the schema that the service uses. */
export const of = <A>(field: string, schema: Schema.Codec<A, string>) =>
  Flag.String(flagName(field)).pipe(Flag.withSchema(schema), Flag.optional)

export const choice = <const Choices extends ReadonlyArray<string>>(field: string, choices: Choices) =>
  Flag.optional(Flag.Literals(flagName(field), choices))

export const integer = (field: string) => Flag.optional(Flag.Int(flagName(field)))

/** `--field`, or `--no-field`. */
export const boolean = (field: string) => Flag.optional(Flag.Boolean(flagName(field)))

const secretFlags = [
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
] as const

/** The content of a file, so that a secret is not on the command line. */
export const secret = (flag: (typeof secretFlags)[number]) => Flag.optional(Input.file(flag))

/** The flag that reads the secret for which `option`, such as `--pin`, would be. */
export const secretFlagOf = (option: string): string | undefined =>
  secretFlags.map((flag) => `--${flag}`).find((flag) => flag === `${option}-file`)

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

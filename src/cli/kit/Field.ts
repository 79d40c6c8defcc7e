// Flags for the fields of a request, with the names of the fields.
import { Option } from "effect"
import type { Schema } from "effect"
import { Flag } from "effect/cli"
import * as Input from "./Input.ts"

const flagName = (field: string): string => field.replaceAll("_", "-")

export const text = (field: string, help: string) =>
  Flag.String(flagName(field)).pipe(Flag.withDescription(help), Flag.optional)

/** Decoded with the schema that the service uses. */
export const of = <A>(field: string, schema: Schema.Codec<A, string>, help: string) =>
  Flag.String(flagName(field)).pipe(Flag.withSchema(schema), Flag.withDescription(help), Flag.optional)

export const choice = <const Choices extends ReadonlyArray<string>>(field: string, choices: Choices, help: string) =>
  Flag.Literals(flagName(field), choices).pipe(Flag.withDescription(help), Flag.optional)

export const integer = (field: string, help: string) =>
  Flag.Int(flagName(field)).pipe(Flag.withDescription(help), Flag.optional)

/** `--field`, or `--no-field`. */
export const boolean = (field: string, help: string) =>
  Flag.Boolean(flagName(field)).pipe(Flag.withDescription(help), Flag.optional)

/** The content of a file, so that a secret is not on the command line. */
export const secret = (flag: string, help: string) => Input.file(flag).pipe(Flag.withDescription(help), Flag.optional)

/** A flag that may be repeated. */
export const many = <A>(flag: Flag.Flag<A>, help: string) =>
  flag.pipe(
    Flag.withDescription(`${help}; may be repeated`),
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

// Words an invalid command line: one line with the problems, and the command that prints the help.
import { CliOutput } from "effect/cli"
import type { CliError } from "effect/cli"
import { Effect } from "effect"
import { CommandFailed } from "./CommandFailed.ts"
import * as Field from "./Field.ts"

/** Prints help only: `explain` reports the problems. */
export const layer = CliOutput.layerPresenter({
  present: (event) => (event._tag === "InvalidInvocation" ? Effect.void : CliOutput.defaultPresenter.present(event))
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
  const flag = error._tag === "UnrecognizedOption" ? Field.secretFlagOf(error.option) : undefined
  return flag === undefined
    ? onOneLine(error.message)
    : `${error.message.split("\n")[0]}: it is a secret, and other users can read the command line; use ${flag} FILE`
}

/** Help without a problem is not a failure: the user asked for it. */
export const explain = ({ commandPath, errors }: CliError.ShowHelp): Effect.Effect<void, CommandFailed> => {
  if (errors.length === 0) return Effect.void
  const mistakes = errors.map(mistakeOf).join("; ")
  return Effect.fail(CommandFailed.usage(`${mistakes}. See: ${commandPath.join(" ")} --help`))
}

// What is said of a command line that does not fit: a line, and where the help is.
import { CliOutput } from "effect/cli"
import type { CliError } from "effect/cli"
import { Effect } from "effect"
import { CommandFailed } from "./CommandFailed.ts"

/** Help is printed as it is; the mistakes are what `explain` makes of them. */
export const layer = CliOutput.layerPresenter({
  present: (event) => (event._tag === "InvalidInvocation" ? Effect.void : CliOutput.defaultPresenter.present(event))
})

/** `Did you mean this?` comes with its own lines. */
const inLine = (message: string): string =>
  message
    .replace("Schema validation failed: Expected ", "")
    .replace(/\s*\n\s*Did you mean this\?\s*/, "; did you mean: ")
    .trim()
    .replaceAll(/\s*\n\s*/g, ", ")

/** Help that was shown because nothing else was asked for is no failure. */
export const explain = ({ commandPath, errors }: CliError.ShowHelp): Effect.Effect<void, CommandFailed> => {
  if (errors.length === 0) return Effect.void
  const mistakes = errors.map(({ message }) => inLine(message)).join("; ")
  return Effect.fail(CommandFailed.usage(`${mistakes}. See: ${commandPath.join(" ")} --help`))
}

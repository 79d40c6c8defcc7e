// A command that did not do what it was asked to: a line for the user, and the exit code.
import { Runtime, Schema } from "effect"

/** What scripts may rely on; `serve` ends with 1 whatever the reason. */
export const exitCodes = {
  /** The service refused or failed. */
  refused: 1,
  /** The command line, a file that it names, or the configuration does not fit. */
  usage: 2,
  unreachable: 3,
  /** The key is missing, unknown, or does not allow this. */
  unauthorized: 4
} as const

export class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", {
  message: Schema.String,
  exitCode: Schema.Literals(Object.values(exitCodes)),
  /** Of the service's answer, where there was one. */
  status: Schema.optionalKey(Schema.Int)
}) {
  override readonly [Runtime.errorExitCode] = this.exitCode

  static usage(message: string): CommandFailed {
    return new CommandFailed({ message, exitCode: exitCodes.usage })
  }
}

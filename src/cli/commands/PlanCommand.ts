// `plan` and `diff`: what has to change so that the service has what the files of a configuration say.
import { Effect } from "effect"
import { Command } from "effect/cli"
import { hasChanges } from "../../domain/configuration/Planning.ts"
import { toPlan } from "../../domain/configuration/PlanRequest.ts"
import * as Configuration from "../configuration/Given.ts"
import * as Planned from "../configuration/Planned.ts"
import { CommandFailed, exitCodes } from "../kit/CommandFailed.ts"
import * as Verb from "../kit/Verb.ts"

/** With the flag, 2 means "changes", and everything that fails before is 1. */
const detailed = <A, R>(self: Effect.Effect<A, CommandFailed, R>) =>
  Effect.mapError(self, (error) =>
    error.exitCode === exitCodes.usage
      ? new CommandFailed({ message: error.message, exitCode: exitCodes.refused })
      : error
  )

const changed = new CommandFailed({ message: "the service differs from the configuration", exitCode: exitCodes.usage })

const compare = Effect.fnUntraced(function* (given: Planned.PlanFlags, isDetailed: boolean) {
  const call = Effect.flatMap(Planned.prepare(given), Planned.make)
  const plan = yield* isDetailed ? detailed(call) : call
  yield* Planned.print(plan, given)
  if (isDetailed && hasChanges(toPlan(plan))) return yield* changed
})

export const PlanCommand = Command.make(
  "plan",
  {
    ...Planned.flags,
    detailedExitcode: Configuration.toggle(
      "detailed-exitcode",
      "End with 0 without changes, 2 with changes, 1 after a failure"
    )
  },
  ({ detailedExitcode, ...given }) => compare(given, detailedExitcode)
).pipe(
  Verb.about(
    "Compare a configuration with the service, and print what differs. It changes nothing.",
    "plan --file relayers.yaml",
    "plan --file relayers.yaml --overlay production.yaml --output markdown"
  )
)

export const DiffCommand = Command.make("diff", Planned.flags, (given) => compare(given, true)).pipe(
  Verb.about(
    "Compare a configuration with the service as plan does. Ends with 0 without changes, 2 with changes, 1 after a failure.",
    "diff --file relayers.yaml"
  )
)

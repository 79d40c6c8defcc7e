// `plan` and `diff`: what has to change so that the service has what the files of a configuration say.
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { hasChanges } from "../../domain/configuration/Plan.ts"
import { toPlan } from "../../domain/configuration/PlanRequest.ts"
import { RehearsedDays } from "../../domain/transaction/evm/Rehearsal.ts"
import * as Configuration from "../configuration/Given.ts"
import * as Planned from "../configuration/Planned.ts"
import * as Rehearsals from "../configuration/Rehearsals.ts"
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

const call = Effect.fnUntraced(function* (given: Planned.PlanFlags) {
  const prepared = yield* Planned.prepare(given)
  return { prepared, plan: yield* Planned.make(prepared) }
})

/** `days`: policies that change are tried on the transactions of these days. `file`: the plan is also written to it. */
const compare = Effect.fnUntraced(function* (
  given: Planned.PlanFlags,
  isDetailed: boolean,
  days: Option.Option<number>,
  file: Option.Option<string>
) {
  const { plan, prepared } = yield* isDetailed ? detailed(call(given)) : call(given)
  if (Option.isSome(file)) yield* Planned.save(plan, file.value)
  const rehearsals = Option.isSome(days) ? yield* Rehearsals.lines(prepared, plan, days.value) : undefined
  yield* Planned.print(plan, given, rehearsals)
  if (isDetailed && hasChanges(toPlan(plan))) return yield* changed
})

export const PlanCommand = Command.make(
  "plan",
  {
    ...Planned.flags,
    out: Planned.out,
    detailedExitcode: Configuration.toggle(
      "detailed-exitcode",
      "End with 0 without changes, 2 with changes, 1 after a failure"
    ),
    rehearse: Flag.Int("rehearse").pipe(
      Flag.withSchema(RehearsedDays),
      Flag.withMetavar("<days>"),
      Flag.withDescription("Try changed policies of evm relayers on their transactions of the last days, 1 to 30"),
      Flag.optional
    )
  },
  ({ detailedExitcode, out, rehearse, ...given }) => compare(given, detailedExitcode, rehearse, out)
).pipe(
  Verb.about(
    "Compare a configuration with the service, and print what differs. It changes nothing.",
    "plan --file relayers.yaml",
    "plan --file relayers.yaml --rehearse 30",
    "plan --file relayers.yaml --overlay production.yaml --output markdown --out plan.json"
  )
)

export const DiffCommand = Command.make("diff", Planned.flags, (given) =>
  compare(given, true, Option.none(), Option.none())
).pipe(
  Verb.about(
    "Compare a configuration with the service as plan does. Ends with 0 without changes, 2 with changes, 1 after a failure.",
    "diff --file relayers.yaml"
  )
)

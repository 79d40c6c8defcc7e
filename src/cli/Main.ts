// The entry point of the command: serves the API, or runs another command.
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Console, Effect, Exit, Option } from "effect"
import { CliConfig, Command, GlobalFlag } from "effect/cli"
import { running } from "../process/Running.ts"
import { stopOnSighup, stopWithParent } from "../process/signals/Signals.ts"
import * as Settings from "../process/settings/Settings.ts"
import { findMisspelled } from "../process/settings/Variables.ts"
import { Environment, serveFlags, sourceOfFlags } from "./kit/Environment.ts"
import type { ServeFlagValues, Variables } from "./kit/Environment.ts"
import { explainUsage, layerUsage } from "./kit/Field.ts"
import { endUnread } from "./kit/Terminal.ts"

export interface Started {
  readonly args: ReadonlyArray<string>
  readonly variables: Variables
  readonly dotEnv: Variables
  readonly isTerminal: boolean
}

/** Prints one line. Only an unexpected defect is printed with its stack. */
const report = (cause: Cause.Cause<{ readonly message: string }>) => {
  if (Cause.hasInterruptsOnly(cause)) return Effect.void
  const error = Cause.findErrorOption(cause)
  return Console.error(`effect-relayer: ${Option.isSome(error) ? error.value.message : Cause.pretty(cause)}`)
}

const start =
  ({ dotEnv, isTerminal, variables }: Started) =>
  (given: ServeFlagValues) =>
    Effect.gen(function* () {
      const settings = yield* Settings.decode(sourceOfFlags(given), variables, dotEnv)
      const { serve } = yield* Effect.promise(() => import("../process/Serve.ts"))
      return yield* serve(settings, { isTerminal, misspelled: findMisspelled(variables, dotEnv) })
    })

/** Runs a command that serves until a signal stops it. */
const untilSignal = <E extends { readonly message: string }>(
  started: Started,
  run: Effect.Effect<void, E, Command.Environment | Environment>
) =>
  Effect.gen(function* () {
    stopOnSighup()
    if (started.variables.npm_lifecycle_event !== undefined) yield* Effect.forkChild(stopWithParent)
    return yield* run
  }).pipe(
    Effect.tapCause(report),
    Effect.provideService(Environment, started),
    Effect.provide([
      NodeServices.layer,
      layerUsage,
      CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version] })
    ]),
    NodeRuntime.runMain({
      disableErrorReporting: true,
      // A signal asked to stop, and the service has stopped when this is called.
      teardown: (exit, onExit) => onExit(Exit.isFailure(exit) && !Exit.hasInterrupts(exit) ? 1 : 0)
    })
  )

/** Loads no other command, so that the service starts faster. */
const serve = (started: Started, args: ReadonlyArray<string>) =>
  untilSignal(
    started,
    Command.runWith(Command.make("effect-relayer", serveFlags, start(started)), { version: running })(args).pipe(
      Effect.catchTag("ShowHelp", explainUsage)
    )
  )

const dev = (started: Started, args: ReadonlyArray<string>) =>
  untilSignal(
    started,
    Effect.promise(() => import("./commands/DevCommand.ts")).pipe(
      Effect.flatMap(({ DevCommand }) => Command.runWith(DevCommand, { version: running })(args)),
      Effect.catchTag("ShowHelp", explainUsage)
    )
  )

/** A command without its process, so that tests run it in theirs. It has reported its failure. */
export const command = (started: Started) =>
  Effect.promise(() => import("./Cli.ts")).pipe(
    Effect.flatMap((cli) => cli.run(started.args, running, start(started))),
    Effect.tapCause(report),
    Effect.provide(NodeServices.layer),
    Effect.provideService(Environment, started)
  )

const runCommand = (started: Started) =>
  command(started).pipe(Effect.raceFirst(endUnread), NodeRuntime.runMain({ disableErrorReporting: true }))

export const main = (started: Started): void => {
  const { args } = started
  const [word] = args
  // Help and completions need all commands.
  if (args.some((arg) => /^(-h|--help|--completions)(=|$)/.test(arg))) runCommand(started)
  else if (word === "serve") serve(started, args.slice(1))
  else if (word === "dev") dev(started, args.slice(1))
  else if (word === undefined || word.startsWith("-")) serve(started, args)
  else runCommand(started)
}

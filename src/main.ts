#!/usr/bin/env node
// The process: reads the environment and the arguments, and serves, or runs another command. The only file that does so.
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Console, Effect, Exit, Option } from "effect"
import { CliConfig, Command, GlobalFlag } from "effect/cli"
import * as fs from "node:fs"
import { parseEnv } from "node:util"
import { Environment } from "./cli/Environment.ts"
import * as ServeFlags from "./cli/ServeFlags.ts"
import * as Usage from "./cli/Usage.ts"
import * as Hangup from "./process/Hangup.ts"
import * as Npm from "./process/Npm.ts"
import * as Settings from "./process/Settings.ts"

const version = "0.1.0"

const dotEnv = (): Record<string, string | undefined> => {
  try {
    return parseEnv(fs.readFileSync(".env", "utf8"))
  } catch {
    return {}
  }
}

/** What went wrong, in a line; only a defect, which nobody expected, shows where it came from. */
const report = (cause: Cause.Cause<{ readonly message: string }>) => {
  if (Cause.hasInterruptsOnly(cause)) return Effect.void
  const error = Cause.findErrorOption(cause)
  return Console.error(`effect-relayer: ${Option.isSome(error) ? error.value.message : Cause.pretty(cause)}`)
}

const start = (given: ServeFlags.Given) =>
  Effect.gen(function* () {
    yield* Hangup.stopAtHangup
    if (process.env.npm_lifecycle_event !== undefined) yield* Effect.forkChild(Npm.stopWithParent)
    const settings = yield* Settings.decode(ServeFlags.source(given), process.env, dotEnv())
    const { serve } = yield* Effect.promise(() => import("./cli/Serve.ts"))
    return yield* serve(settings, process.stdout.isTTY)
  }).pipe(Effect.scoped)

/** Alone, so that nothing of the other commands is loaded where the service starts. */
const serve = (args: ReadonlyArray<string>) =>
  Command.runWith(Command.make("effect-relayer", ServeFlags.flags, start), { version })(args).pipe(
    Effect.catchTag("ShowHelp", Usage.explain),
    Effect.tapCause(report),
    Effect.provide([
      NodeServices.layer,
      Usage.layer,
      CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version] })
    ]),
    NodeRuntime.runMain({
      disableErrorReporting: true,
      // A signal is a request to stop, which has been done when this is called.
      teardown: (exit, onExit) => onExit(Exit.isFailure(exit) && !Exit.hasInterrupts(exit) ? 1 : 0)
    })
  )

const command = (args: ReadonlyArray<string>) =>
  Effect.promise(() => import("./cli/Cli.ts")).pipe(
    Effect.flatMap((cli) => cli.run(args, version, start)),
    Effect.tapCause(report),
    Effect.provide(NodeServices.layer),
    Effect.provideService(Environment, { variables: process.env, dotEnv: dotEnv() }),
    NodeRuntime.runMain({ disableErrorReporting: true })
  )

const args = process.argv.slice(2)
const [word] = args

// What is asked about all commands needs all of them.
if (args.some((arg) => /^(-h|--help|--completions)(=|$)/.test(arg))) command(args)
else if (word === "serve") serve(args.slice(1))
else if (word === undefined || word.startsWith("-")) serve(args)
else command(args)

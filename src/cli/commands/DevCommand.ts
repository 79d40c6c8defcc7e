// `dev`: the service beside local chains, for development.
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import * as DevelopmentSettings from "../../process/development/DevelopmentSettings.ts"
import { Environment } from "../kit/Environment.ts"
import * as Verb from "../kit/Verb.ts"

const text = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.optional)

export const DevCommand = Command.make(
  "dev",
  {
    PORT: text("port", "Port to listen on; 0: a free port (default 8080) [PORT]"),
    DATA_DIR: text("data-dir", `Folder of its own data (default ${DevelopmentSettings.defaultFolder})`),
    LOG_LEVEL: text(
      "log-level",
      `Lowest level that is logged (default ${DevelopmentSettings.defaultLogLevel}) [LOG_LEVEL]`
    ),
    reset: Flag.Boolean("reset").pipe(
      Flag.withDefault(false),
      Flag.withDescription("Remove the data of earlier starts first: chains, relayers and keys")
    )
  },
  Effect.fnUntraced(function* ({ reset, ...given }) {
    const { dotEnv, isTerminal, variables } = yield* Environment
    const flags = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, Option.getOrUndefined(value)]))
    const { settings, unused } = yield* DevelopmentSettings.decode(flags, variables, dotEnv)
    const { start } = yield* Effect.promise(() => import("../../process/development/Development.ts"))
    return yield* start({ settings, reset, isTerminal, unused })
  })
).pipe(
  Verb.about(
    "Run the service for development, beside local chains with funded relayers that send one transaction each. Not for production: it listens on 127.0.0.1, reaches only its own chains, and prints its API key. The evm chain needs anvil: npm install --save-dev @foundry-rs/anvil. The solana cluster and the stellar ledger need a clone.",
    "dev",
    "dev --port 9090",
    "dev --reset"
  )
)

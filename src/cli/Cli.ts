// The tree of all commands. It is loaded only if the command is not `serve`.
import { Effect } from "effect"
import { CliConfig, Command, GlobalFlag } from "effect/cli"
import { ClaimsCommand } from "./commands/ClaimsCommand.ts"
import { ConfigCommand } from "./commands/ConfigCommand.ts"
import { DevCommand } from "./commands/DevCommand.ts"
import { EventsCommand } from "./commands/EventsCommand.ts"
import { ImportCommand } from "../../packages/import/src/ImportCommand.ts"
import { KeysCommand } from "./commands/KeysCommand.ts"
import { NetworksCommand } from "./commands/NetworksCommand.ts"
import { OpenApiCommand } from "./commands/OpenApiCommand.ts"
import { SignersCommand } from "./commands/SignersCommand.ts"
import { AuditCommand } from "./commands/AuditCommand.ts"
import { ApplyCommand, DiffCommand, ExportCommand, PlanCommand } from "./commands/ConfigurationCommands.ts"
import {
  BackupCommand,
  DataCommand,
  MigrateCommand,
  RepairCommand,
  RestoreCommand
} from "./commands/DatabaseCommands.ts"
import { NotificationsCommand } from "./commands/NotificationsCommand.ts"
import { RelayersCommand } from "./commands/RelayersCommand.ts"
import { TransactionsCommand } from "./commands/TransactionsCommand.ts"
import { serveFlags } from "./kit/Environment.ts"
import type { ServeFlagValues } from "./kit/Environment.ts"
import { explainUsage, layerUsage, Notes } from "./kit/Field.ts"
import { exitCodes } from "./kit/Terminal.ts"
import * as Verb from "./kit/Verb.ts"

const notes = `NOTES
  Without a command, serve runs: effect-relayer --port 9090. Each of its flags can also be set as an environment variable or in .env;
  effect-relayer serve --help lists them. dev, migrate, backup, restore, repair, data, config, import and openapi need no running service; all
  other commands call a running service.

  The address of the service is --server or RELAYER_URL. The API key is the content of --key-file, API_KEY, the content of
  API_KEY_FILE, or the content of DATA_DIR/api-key. RELAYER_URL in .env is only used for an API_KEY in .env. The key is sent to
  no host that does not identify itself as effect-relayer.

  Exit codes: 0 success; ${exitCodes.refused} the service refused or failed; ${exitCodes.usage} invalid command line or configuration;
  ${exitCodes.unreachable} the service cannot be reached; ${exitCodes.unauthorized} the API key is not allowed to do this. serve and dev end with 1 after any failure.

  Completion: effect-relayer --completions bash >>~/.bashrc (or zsh, fish, powershell).`

export type Start = (given: ServeFlagValues) => Effect.Effect<void, { readonly message: string }>

const rotateKey = Verb.call("rotate-key", "masterKey.rotate", ["rotate-key"], {
  about:
    "Re-encrypt every secret with the STORAGE_ENCRYPTION_KEY of the service, or with a new key if the service keeps its own."
})

const root = (start: Start) =>
  // Its help begins with the commands: the flags of serve are in the help of serve.
  Command.make("effect-relayer", {}, () => start({})).pipe(
    Command.withDescription("Manages blockchain relayers."),
    Command.annotate(Notes, notes),
    Command.withExamples([
      {
        command: "effect-relayer",
        description: "Serve on http://127.0.0.1:8080 with the embedded PostgreSQL in ./data"
      },
      { command: "effect-relayer dev", description: "Try it: serve beside a local chain, and send a transaction" },
      { command: "effect-relayer relayers list --all --output json", description: "Call a running service" }
    ]),
    Command.withSubcommands([
      {
        group: "The service",
        commands: [
          Command.make("serve", serveFlags, start).pipe(
            Verb.about("Serve the relayer API.", "serve", "serve --port 9090 --data-dir /var/lib/relayer")
          ),
          DevCommand,
          MigrateCommand,
          BackupCommand,
          RestoreCommand,
          RepairCommand,
          DataCommand,
          ConfigCommand,
          ImportCommand,
          OpenApiCommand
        ]
      },
      {
        group: "Calls to a running service",
        commands: [
          PlanCommand,
          DiffCommand,
          ApplyCommand,
          ExportCommand,
          RelayersCommand,
          TransactionsCommand,
          SignersCommand,
          NotificationsCommand,
          NetworksCommand,
          EventsCommand,
          KeysCommand,
          ClaimsCommand,
          AuditCommand,
          rotateKey
        ]
      }
    ])
  )

export const run = (args: ReadonlyArray<string>, version: string, start: Start) =>
  Command.runWith(root(start), { version })(args).pipe(
    Effect.catchTag("ShowHelp", explainUsage),
    Effect.provide([
      layerUsage,
      CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })
    ])
  )

// Writes docs/settings.md from the table of variables, which is also the help of `serve`. With `--check`, it fails if the file differs.
import * as fs from "node:fs"
import type { Name } from "../src/process/settings/Settings.ts"
import { secretSettings } from "../src/cli/kit/Environment.ts"
import { variables } from "../src/process/settings/Variables.ts"

interface Setting {
  readonly default?: string
  readonly example: string
  readonly help: string
}

const names = Object.keys(variables) as Array<Name>

const code = (text: string) => `\`${text}\``

const rowOf = (name: Name) => {
  const setting: Setting = variables[name]
  return [
    code(name),
    secretSettings.has(name) ? "none" : code(`--${name.toLowerCase().replaceAll("_", "-")}`),
    setting.default === undefined ? "unset" : code(setting.default),
    setting.help,
    setting.example.startsWith("the ") ? setting.example : code(setting.example)
  ]
}

/** With the blanks of the formatter. */
const table = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  const lines = [rows[0] ?? [], widths.map((width) => "-".repeat(width)), ...rows.slice(1)]
  return lines
    .map((cells) => `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`)
    .join("\n")
}

const text = `# Settings

For operators. \`npm run settings\` writes this file from the table that \`effect-relayer serve --help\` prints.

Each setting is a flag, an environment variable or a line of \`.env\` in the working directory, in this order of precedence. An empty value counts as unset. The service
reports all mistakes at once; \`effect-relayer config check\` does the same, starts nothing, and shows where each value comes from. A variable that resembles a setting,
such as \`DATABSE_URL\`, causes a warning. Secrets have no flag, because other users of a machine can read the command line.

${table([["Setting", "Flag", "Default", "Meaning", "Example"], ...names.map(rowOf)])}

- **The master key** (\`STORAGE_ENCRYPTION_KEY\`, or \`DATA_DIR/storage-encryption-key\`): keep a copy where your backups are not. Without it nobody can read the signers'
  keys. [operate.md](operate.md) describes its rotation.
- \`DATABASE_URL\`: TLS is required unless the URL has \`sslmode=disable\` or names a socket or a loopback address; \`sslrootcert\`, \`sslcert\` and \`sslkey\` are files.
- \`API_KEY\`: if it is unset, the instances of one \`DATABASE_URL\` share the key that the first one made. An instance with the embedded database has a key of its own.
- \`DATABASE_FAILOVER\`: with \`unknown\`, open transactions wait for an operator's answer after a replica of the database was promoted.
- \`TRUSTED_PROXIES\`: the client is the rightmost address of \`X-Forwarded-For\` that is not in the list.
- \`LANE_LEASE_MS\`: transactions of an instance that has ended are taken over at once.
- \`POSTGRES_BIN\` is for systems that the npm binaries do not run on, such as NixOS and musl.
- \`OTEL_RESOURCE_ATTRIBUTES\` is used as OpenTelemetry defines it.
`

const file = new URL("../docs/settings.md", import.meta.url)
if (!process.argv.includes("--check")) fs.writeFileSync(file, text)
else if (fs.readFileSync(file, "utf8") !== text) {
  process.stderr.write("docs/settings.md differs from the settings: run npm run settings\n")
  process.exitCode = 1
}

// The call that does the same as the page. It names the variable of the key, never the key.
import { words } from "../words.ts"
import { CopyButton } from "./Copy.tsx"

interface Props {
  readonly method: "GET" | "POST"
  readonly path: string
  readonly body?: unknown
}

/** The text in single quotes of a shell. */
export const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

const commandOf = ({ method, path, body }: Props) =>
  [
    `curl -X ${method} ${quoted(location.origin + path)} -H "Authorization: Bearer $API_KEY"`,
    ...(body === undefined ? [] : [`-H 'Content-Type: application/json' -d ${quoted(JSON.stringify(body))}`])
  ].join(" \\\n  ")

/** A command of a shell, which opens below its summary. */
export const Command = ({ summary, command }: { readonly summary: string; readonly command: string }) => (
  <details class="card curl">
    <summary>{summary}</summary>
    <div class="pad">
      <pre tabIndex={0}>{command}</pre>
      <CopyButton text={command} label={words.copy.copy} />
    </div>
  </details>
)

export const Curl = (props: Props) => <Command summary={words.curl} command={commandOf(props)} />

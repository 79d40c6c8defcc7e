// Finds the address of the service and the API key of a command.
import { Effect, Option, Redacted } from "effect"
import { Flag } from "effect/cli"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import * as Settings from "../../process/settings/Settings.ts"
import { CommandFailed } from "./CommandFailed.ts"
import { Environment } from "./Environment.ts"
import * as Input from "./Input.ts"

const defaultUrl = "http://127.0.0.1:8080"

export const flags = {
  url: Flag.String("url").pipe(
    Flag.withDescription(`URL of the service (default ${defaultUrl}) [RELAYER_URL]`),
    Flag.optional
  ),
  keyFile: Input.file("key-file").pipe(
    Flag.withDescription("File with the API key (default: API_KEY, or DATA_DIR/api-key) [API_KEY_FILE]"),
    Flag.optional
  )
}

export interface Given {
  readonly url: Option.Option<string>
  readonly keyFile: Option.Option<string>
}

const baseUrl = Effect.fnUntraced(function* (given: Option.Option<string>) {
  const text = Option.getOrUndefined(given) ?? (yield* Environment.read("RELAYER_URL")) ?? defaultUrl
  const url = URL.parse(text)
  const fits =
    url !== null && /^https?:$/.test(url.protocol) && url.username + url.password + url.search + url.hash === ""
  if (!fits) return yield* CommandFailed.usage(`--url or RELAYER_URL: expected a URL such as ${defaultUrl}`)
  return url.href.replace(/\/+$/, "")
})

/** Accepts what an HTTP header may contain. */
const asKey = (text: string, place: string) =>
  /^[\x21-\x7e]+$/.test(text)
    ? Effect.succeed(Redacted.make(text))
    : Effect.fail(CommandFailed.usage(`${place} does not contain an API key`))

const readKey = (file: string) => Effect.flatMap(Input.readText(file), (text) => asKey(text.trim(), file))

/** The key that a service created in the same data directory. */
const createdKey = Effect.fnUntraced(function* () {
  const usual = Settings.described.find(({ name }) => name === "DATA_DIR")?.default ?? ""
  const file = path.join((yield* Environment.read("DATA_DIR")) ?? usual, "api-key")
  const exists = yield* Effect.promise(() =>
    fs.access(file).then(
      () => true,
      () => false
    )
  )
  return exists
    ? yield* readKey(file)
    : yield* CommandFailed.usage(`there is no API key: set API_KEY, or use --key-file (${file} does not exist)`)
})

const apiKey = Effect.fnUntraced(function* (given: Option.Option<string>) {
  if (Option.isSome(given)) return yield* readKey(given.value)
  const key = yield* Environment.read("API_KEY")
  if (key !== undefined) return yield* asKey(key, "API_KEY")
  const file = yield* Environment.read("API_KEY_FILE")
  return file === undefined ? yield* createdKey() : yield* readKey(file)
})

export const open = (given: Given) => Effect.all({ baseUrl: baseUrl(given.url), apiKey: apiKey(given.keyFile) })

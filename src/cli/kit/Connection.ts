// How a command reaches the service: address and key.
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
    Flag.withDescription(`Where the service is (default ${defaultUrl}) [RELAYER_URL]`),
    Flag.optional
  ),
  keyFile: Input.file("key-file").pipe(
    Flag.withDescription("File of the API key (default: API_KEY itself, or DATA_DIR/api-key) [API_KEY_FILE]"),
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
  if (!fits) return yield* CommandFailed.usage(`--url, or RELAYER_URL, is no URL such as ${defaultUrl}`)
  return url.href.replace(/\/+$/, "")
})

/** Whatever fits into a header. */
const asKey = (text: string, place: string) =>
  /^[\x21-\x7e]+$/.test(text)
    ? Effect.succeed(Redacted.make(text))
    : Effect.fail(CommandFailed.usage(`${place} holds no API key`))

const readKey = (file: string) => Effect.flatMap(Input.readText(file), (text) => asKey(text.trim(), file))

/** The one that the service has made, where it was started in the same place. */
const madeKey = Effect.fnUntraced(function* () {
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
    : yield* CommandFailed.usage(
        `there is no API key: set API_KEY, or name a file of it by --key-file (${file} is none)`
      )
})

const apiKey = Effect.fnUntraced(function* (given: Option.Option<string>) {
  if (Option.isSome(given)) return yield* readKey(given.value)
  const key = yield* Environment.read("API_KEY")
  if (key !== undefined) return yield* asKey(key, "API_KEY")
  const file = yield* Environment.read("API_KEY_FILE")
  return file === undefined ? yield* madeKey() : yield* readKey(file)
})

export const open = (given: Given) => Effect.all({ baseUrl: baseUrl(given.url), apiKey: apiKey(given.keyFile) })

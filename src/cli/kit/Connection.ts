// Finds the address of the service and the API key of a command.
import { Effect, Option, Redacted } from "effect"
import { Flag } from "effect/cli"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import * as Settings from "../../process/settings/Settings.ts"
import { CommandFailed } from "./CommandFailed.ts"
import { Environment } from "./Environment.ts"
import * as Input from "./Input.ts"

const defaultServer = "http://127.0.0.1:8080"

export const flags = {
  server: Flag.String("server").pipe(
    Flag.withDescription(`URL of the service (default ${defaultServer}) [RELAYER_URL]`),
    Flag.withMetavar("<url>"),
    Flag.optional
  ),
  keyFile: Input.file("key-file").pipe(
    Flag.withDescription("File with the API key (default: API_KEY, or DATA_DIR/api-key) [API_KEY_FILE]"),
    Flag.optional
  )
}

export interface ConnectionFlags {
  readonly server: Option.Option<string>
  readonly keyFile: Option.Option<string>
}

interface Key {
  readonly text: Redacted.Redacted
  /** Where it was found, for errors. */
  readonly place: string
  /** Whether the key itself is a line of `.env`. */
  readonly inDotEnv: boolean
}

/** Accepts what an HTTP header may contain. */
const asKey = (text: string, place: string, inDotEnv = false): Effect.Effect<Key, CommandFailed> =>
  /^[\x21-\x7e]+$/.test(text)
    ? Effect.succeed({ text: Redacted.make(text), place, inDotEnv })
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
  const key = yield* Environment.find("API_KEY")
  if (key !== undefined) return yield* asKey(key.value, "API_KEY", key.inDotEnv)
  const file = yield* Environment.read("API_KEY_FILE")
  return file === undefined ? yield* createdKey() : yield* readKey(file)
})

/**
 * The current directory may belong to somebody else. So its `.env` may say where to send its own key, and no other: also not
 * the content of a file that it names.
 */
const address = Effect.fnUntraced(function* (given: Option.Option<string>, key: Key) {
  if (Option.isSome(given)) return given.value
  const set = yield* Environment.find("RELAYER_URL")
  if (set?.inDotEnv === true && !key.inDotEnv) {
    return yield* CommandFailed.usage(
      `RELAYER_URL in .env is not used, because the API key is from ${key.place}: use --server, or set RELAYER_URL in the environment`
    )
  }
  return set?.value ?? defaultServer
})

const baseUrl = Effect.fnUntraced(function* (given: Option.Option<string>, key: Key) {
  const url = URL.parse(yield* address(given, key))
  const fits =
    url !== null && /^https?:$/.test(url.protocol) && url.username + url.password + url.search + url.hash === ""
  if (!fits) return yield* CommandFailed.usage(`--server or RELAYER_URL: expected a URL such as ${defaultServer}`)
  return url.href.replace(/\/+$/, "")
})

export const open = Effect.fnUntraced(function* (given: ConnectionFlags) {
  const key = yield* apiKey(given.keyFile)
  const keyPlace = key.inDotEnv ? `${key.place} in .env` : key.place
  return { baseUrl: yield* baseUrl(given.server, key), apiKey: key.text, keyPlace }
})

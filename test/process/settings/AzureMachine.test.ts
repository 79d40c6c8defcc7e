// Token files of workload identities: only those that the operator allows.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { azureEnvironmentOf } from "../../../src/process/Service.ts"
import * as Settings from "../../../src/process/settings/Settings.ts"
import { folder } from "../../../testkit/process/Folder.ts"

const text = "eyJhbGciOiJSUzI1NiJ9.e30.c3R1Yg"

/** A directory with a token behind links, as Kubernetes makes them, and a file beside the directory. */
const prepared = Effect.gen(function* () {
  const parent = yield* folder
  const directory = path.join(parent, "tokens")
  yield* Effect.promise(async () => {
    await fs.mkdir(path.join(directory, "..2026"), { recursive: true })
    await fs.writeFile(path.join(directory, "..2026", "token"), `${text}\n`)
    await fs.symlink("..2026", path.join(directory, "..data"))
    await fs.symlink(path.join("..data", "token"), path.join(directory, "token"))
    await fs.mkdir(path.join(parent, "tokens-of-others"))
    await fs.writeFile(path.join(parent, "tokens-of-others", "secret"), "secret")
    await fs.symlink(path.join("..", "tokens-of-others", "secret"), path.join(directory, "link"))
    await fs.writeFile(path.join(directory, "empty"), "\n")
    await fs.writeFile(path.join(directory, "long"), "a".repeat(20_000))
  })
  return directory
})

/** The token, or why there is none. */
const readWith = Effect.fnUntraced(function* (variables: Record<string, string>, file?: string) {
  const { tokenFile } = azureEnvironmentOf(yield* Settings.decode(variables))
  return yield* tokenFile(file === undefined ? undefined : Redacted.make(file)).pipe(
    Effect.match({ onSuccess: Redacted.value, onFailure: (message) => message })
  )
})

describe("a token file", () => {
  it.effect("of a request is read if it is in the directory of the operator", () =>
    Effect.gen(function* () {
      const directory = yield* prepared
      const variables = { AZURE_TOKEN_DIRECTORY: directory }
      assert.strictEqual(yield* readWith(variables, path.join(directory, "token")), text)
      const outside = "the token file is not in AZURE_TOKEN_DIRECTORY"
      const others = path.join(directory, "..", "tokens-of-others", "secret")
      for (const file of [others, path.join(directory, "link"), "/etc/passwd", directory]) {
        assert.strictEqual(yield* readWith(variables, file), outside)
      }
    })
  )

  it.effect("of a request is refused if the operator names no directory, or the machine's own file", () =>
    Effect.gen(function* () {
      const file = path.join(yield* prepared, "token")
      const message = "a token file needs the setting AZURE_TOKEN_DIRECTORY"
      assert.strictEqual(yield* readWith({}, file), message)
      assert.strictEqual(yield* readWith({ AZURE_FEDERATED_TOKEN_FILE: file }, file), message)
    })
  )

  it.effect("that is absent, empty or too long is refused", () =>
    Effect.gen(function* () {
      const directory = yield* prepared
      for (const name of ["absent", "empty", "long"]) {
        assert.strictEqual(
          yield* readWith({ AZURE_TOKEN_DIRECTORY: directory }, path.join(directory, name)),
          "the token file cannot be read, or has no token"
        )
      }
    })
  )

  it.effect("of the machine is used if the request names none", () =>
    Effect.gen(function* () {
      const file = path.join(yield* prepared, "token")
      assert.strictEqual(yield* readWith({ AZURE_FEDERATED_TOKEN_FILE: file }), text)
      assert.include(yield* readWith({}), "AZURE_FEDERATED_TOKEN_FILE is not set")
    })
  )
})

// Secrets of signers go in, and are in no answer, span or log line.
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import * as TestApi from "../../../testkit/TestApi.ts"
import { Vault, refusalText, roleId, secretId } from "../../../testkit/Vault.ts"
import { config, key, keystore, passphrase, prepared, signers, transitConfig } from "./fixtures.ts"

const logs: Array<string> = []
const logger = Logger.make((line) => void logs.push(JSON.stringify([line.message, line.cause])))

const live = TestApi.layer().pipe(Layer.provideMerge(Vault.layer), Layer.provideMerge(Logger.layer([logger])))

layer(live)("the secrets of signers", (it) => {
  it.effect("no response, span or log record contains one, or a text of Vault", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const vault = yield* prepared
      const headers = { "x-relayer-debug": "true" }
      const answers: Array<string> = []
      const call = (path: string, call: TestApi.Call) =>
        Effect.map(api.call(path, { ...call, headers }), ({ text }) => void answers.push(text))
      const bodies = [
        { type: "plain", config: { key } },
        { type: "local", config: { keystore, passphrase } },
        { type: "local", config: { keystore, passphrase: "wr0ng phrase" } },
        { id: "vault-1", type: "vault", config: config(vault) },
        { type: "vault", config: config(vault, { key_name: "none" }) },
        { id: "transit-1", type: "vault_transit", config: transitConfig(vault) }
      ]
      for (const body of bodies) yield* call(signers, { body })
      yield* call(`${signers}/vault-1/verify`, { method: "POST" })
      for (const operation of ["login", "kv", "keys", "sign"] as const) {
        for (const fault of [403, 500, "garbage", "wrong shape"] as const) {
          vault.faults.set(operation, fault)
          vault.revokeTokens()
          yield* call(signers, { body: { type: "vault", config: config(vault, { role_id: roleId }) } })
          yield* call(`${signers}/vault-1/verify`, { method: "POST" })
          yield* call(`${signers}/transit-1/verify`, { method: "POST" })
        }
        vault.faults.clear()
      }
      for (const id of ["vault-1", "transit-1"]) yield* call(`${signers}/${id}`, {})
      assert.isAbove(answers.filter((text) => text.includes("Vault.call")).length, 10)
      const tokens = vault.seen.flatMap(({ headers }) => headers["x-vault-token"] ?? [])
      assert.isAbove(tokens.length, 10)
      assert.include(logs.join("\n"), "signer created")
      const shown = [...answers, ...logs].join("\n")
      for (const secret of [
        key,
        passphrase,
        "wr0ng phrase",
        roleId,
        secretId,
        keystore.crypto.mac,
        refusalText,
        ...tokens
      ].map(String)) {
        assert.notInclude(shown, secret)
      }
    })
  )
})

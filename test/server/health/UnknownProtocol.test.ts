// A stellar network that runs a newer protocol than the service knows: what the check, attention, the relayer and the log say.
// Ledgers close by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Logger, References } from "effect"
import { knownProtocol, protocolOf, protocolWarning } from "../../../src/domain/chain/ChainSnapshot.ts"
import { ledgerTables } from "../../../src/server/ledger/Claims.ts"
import { until } from "../../../testkit/process/Folder.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { relayerAt } from "../../../testkit/stellar/Relayers.ts"

/** The annotations of each log record with this message. */
const logged: Array<{ readonly message: string; readonly network: unknown }> = []

const log = Logger.make(({ fiber, message }) => {
  const { network } = fiber.getRef(References.CurrentLogAnnotations)
  logged.push({ message: String(message), network })
})

const api = Layer.provideMerge(ledgerTables(), TestApi.layer({ healthCheckInterval: "1 hour" })).pipe(
  Layer.provideMerge(Logger.layer([log]))
)

interface Item {
  readonly code: string
  readonly resource?: { readonly id: string }
  readonly reason: string
}

layer(api, { excludeTestServices: true })("a stellar network with a newer protocol", (it) => {
  it.effect("is a warning of its check, of attention, of its relayers and of its providers, and is logged once", () =>
    Effect.gen(function* () {
      const { id, standIn } = yield* relayerAt({ ledgerMs: 0 })
      const { call } = yield* TestApi.TestApi
      const warning = `The network runs protocol ${knownProtocol + 1}, and this version of the service knows protocol ${knownProtocol}.`
      const found = Effect.fnUntraced(function* () {
        const checked = yield* call(`/api/v1/relayers/${id}/check`, { method: "POST" })
        assert.strictEqual(checked.status, 200, checked.text)
        const explained = yield* call(`/api/v1/relayers/${id}/explain`)
        const providers = yield* call(`/api/v1/networks/stellar:${id}/providers`)
        const [provider] = providers.json.data as ReadonlyArray<{
          readonly protocol_version?: number
          readonly warning?: string
        }>
        return { explained: explained.text, provider }
      })
      /** Attention keeps a result for two seconds. */
      const attended = (count: number) =>
        until(
          `${count} items of attention`,
          Effect.map(call("/api/v1/attention"), ({ json }) => {
            const items = (json.data as ReadonlyArray<Item>).filter(
              ({ code, resource }) => code === "protocol_unknown" && resource?.id === `stellar:${id}`
            )
            return items.length === count ? items : undefined
          })
        )
      const records = () =>
        logged.filter(
          ({ message, network }) => message.startsWith("a network runs a newer") && network === `stellar:${id}`
        )
      const known = yield* found()
      assert.deepStrictEqual([known.provider?.protocol_version, known.provider?.warning], [knownProtocol, undefined])
      yield* attended(0)
      assert.notInclude(known.explained, "protocol_unknown")
      standIn.control({ faults: { provider: 0, set: { protocolVersion: knownProtocol + 1 } } })
      for (let check = 0; check < 2; check++) {
        const newer = yield* found()
        assert.strictEqual(newer.provider?.protocol_version, knownProtocol + 1)
        assert.include(newer.provider?.warning ?? "", warning)
        const [item] = yield* attended(1)
        assert.include(item?.reason ?? "", warning)
        assert.include(newer.explained, warning)
      }
      assert.lengthOf(records(), 1)
      const reader = yield* TestApi.call("/api/v1/networks?check=true", {
        method: "POST",
        body: {
          network_type: "stellar",
          name: `again-${id}`,
          from: id,
          is_testnet: true
        }
      })
      assert.include(reader.text, warning)
      standIn.control({ faults: { provider: 0, set: { protocolVersion: knownProtocol } } })
      yield* found()
      yield* attended(0)
    })
  )

  it.effect("is found by its newest provider, and a provider that names no protocol is no warning", () =>
    Effect.sync(() => {
      assert.strictEqual(protocolOf([{ protocol_version: 27 }, {}, { protocol_version: 29 }]), 29)
      assert.isUndefined(protocolWarning(protocolOf([{}])))
      assert.isUndefined(protocolWarning(knownProtocol))
      assert.include(protocolWarning(knownProtocol + 1) ?? "", "refuses operations, kinds of envelopes, authorizations")
    })
  )
})

// What an administrator does before the first payment: a token for tests, a relayer that only settles payments in it, and the key of
// the facilitator. It finds what an earlier run has made.
import { createClient, orThrow } from "effect-relayer/promise"
import { readFileSync } from "node:fs"
import { setTimeout } from "node:timers/promises"
import { concatHex, padHex } from "viem"

const { bytecode } = JSON.parse(readFileSync(new URL("Token.json", import.meta.url), "utf8"))

/** `transferWithAuthorization`, with `v`, `r` and `s`, and with the bytes of a signature: the only calls that settle a payment. */
const selectors = ["0xe3ee160e", "0xcf092995"]

/** Wei: what the relayer gets once, what it pays for a unit of gas at most, and what the key spends on fees in a day at most. */
const funds = 10n ** 18n
const gasPriceCap = 100n * 10n ** 9n
const maxFeePerDay = 10n ** 17n

/** Milliseconds between two looks at a relayer that is not healthy yet. */
const pause = 500

/** What a create returns, or undefined if an earlier run has made it. */
const created = (result, taken) => (!result.ok && result.error._tag === taken ? undefined : orThrow(result))

/** Sends from the relayer of the development mode. A repetition with the same `external_id` returns the transaction of the first time. */
const sent = async (client, payload) => {
  const { data } = orThrow(await client.transactions.send({ params: { relayer_id: "dev-evm" }, payload }))
  const params = { relayer_id: "dev-evm", transaction_id: data.id }
  for (;;) {
    const { data: now } = orThrow(await client.transactions.get({ params, query: { wait: "confirmed" } }))
    if (now.status === "confirmed") return now
    if (["failed", "canceled", "expired"].includes(now.status)) throw new Error(now.status_reason)
  }
}

const relayerFor = async (client, calls) => {
  created(await client.signers.create({ payload: { id: "x402", type: "plain" } }), "SignerIdTaken")
  const payload = {
    id: "x402",
    name: "Settles payments",
    network_type: "evm",
    network: "dev",
    paused: false,
    signer_id: "x402",
    policies: { gas_price_cap: gasPriceCap, whitelist_selectors: calls }
  }
  created(await client.relayers.create({ payload }), "RelayerIdTaken")
  const params = { relayer_id: "x402" }
  const { address } = orThrow(await client.relayers.get({ params })).data
  await sent(client, { to: address, value: funds, external_id: "x402-funds" })
  while (orThrow(await client.relayers.get({ params })).data.system_disabled) {
    await client.relayers.check({ params })
    await setTimeout(pause)
  }
}

/** It can call nothing but the token, sends no ether, and uses one relayer. */
const keyFor = async (client, calls) => {
  const payload = {
    id: "x402",
    name: "facilitator",
    scopes: ["relayers:read", "rpc:call", "transactions:read", "transactions:write", "claims:read", "claims:write"],
    relayer_ids: ["x402"],
    transaction_limits: { max_value: 0n, max_fee_per_day: maxFeePerDay, selectors: calls }
  }
  const first = created(await client.apiKeys.create({ payload }), "ApiKeyIdTaken")
  // A key is shown once, so that a later run needs a new value.
  const rotated = { params: { key_id: "x402" }, payload: { overlap_seconds: 0 } }
  return (first ?? orThrow(await client.apiKeys.rotate(rotated))).data.key
}

/** `holder` gets all of the token. */
export const setUp = async ({ baseUrl, apiKey, holder }) => {
  const client = createClient({ baseUrl, apiKey })
  const data = concatHex([bytecode, padHex(holder)])
  const { contract_address: token } = await sent(client, { value: 0n, data, external_id: "x402-token" })
  const calls = selectors.map((selector) => `${token}:${selector}`)
  await relayerFor(client, calls)
  return { token, key: await keyFor(client, calls) }
}

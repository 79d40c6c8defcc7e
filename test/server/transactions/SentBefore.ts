// Bodies that were accepted before, the ways in which they come again, and what would refuse them by now. No node answers: the
// relayers have no chain.
import { assert } from "@effect/vitest"
import { Clock, DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { randomUUID } from "node:crypto"
import { memoProgram, systemProgram } from "../../../src/networks/solana/rules/Programs.ts"
import { base64Of } from "../../../src/networks/solana/rules/SolanaExchanges.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import { envelope, keyNamed, payment } from "../../../testkit/stellar/Building.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { makeKey, receiver } from "./Fixtures.ts"
import { memoOf, prebuilt } from "../../networks/solana/requests/Relayers.ts"

export interface Shown {
  readonly id: string
  readonly status: string
}

type NetworkType = "evm" | "solana" | "stellar"

/** What the networks have besides their names and providers. */
const networks: Readonly<Record<NetworkType, object>> = {
  evm: { chain_id: 31_337, required_confirmations: 1, symbol: "ETH", features: ["eip1559"] },
  solana: {},
  stellar: {}
}

const user = keyNamed("user")

/** Milliseconds after which the deadlines of all bodies are over. */
export const life = 100_000

interface Given {
  /** The address of the relayer. */
  readonly address: string
  readonly network: string
  /** The passphrase of the network of a stellar relayer; other networks do not use it. */
  readonly passphrase: string
  readonly now: number
}

const deadline = (now: number) => DateTime.formatIso(DateTime.makeUnsafe(now + life))

/** A body, and the policy and the limits of an API key that refuse it. */
interface Sent {
  readonly type: NetworkType
  readonly body: (given: Given) => Readonly<Record<string, unknown>>
  readonly policies: object
  /** Absent: the limits of an API key do not apply to it. */
  readonly limits?: object
}

/** Bodies with a deadline and with what names them: an `external_id`, or their bytes. */
export const bodies: Readonly<Record<string, Sent>> = {
  "a send of evm with an external_id": {
    type: "evm",
    body: ({ now }) => ({
      to: receiver,
      value: "5",
      gas_limit: 21_000,
      gas_price: "10",
      external_id: "order-1",
      valid_until: deadline(now)
    }),
    policies: { whitelist_receivers: [] },
    limits: { max_value: "4" }
  },
  "instructions of solana with an external_id": {
    type: "solana",
    body: ({ now }) => ({
      instructions: [{ program_id: memoProgram, accounts: [], data: base64Of(Buffer.from("hello")) }],
      external_id: "order-1",
      valid_until: deadline(now)
    }),
    policies: { fee_payment_strategy: "relayer", allowed_programs: [systemProgram] },
    limits: { max_value: "4" }
  },
  "prebuilt bytes of solana": {
    type: "solana",
    body: ({ address, now }) => ({
      transaction: prebuilt(address, systemProgram, memoOf("hello")),
      valid_until: deadline(now)
    }),
    policies: { fee_payment_strategy: "relayer", allowed_programs: [systemProgram] },
    limits: { max_value: "4" }
  },
  "operations of stellar with an external_id": {
    type: "stellar",
    body: ({ network, now }) => ({
      network,
      operations: [{ type: "payment", destination: user.publicKey(), amount: "5", asset: { type: "native" } }],
      max_fee: "100000",
      external_id: "order-1",
      valid_until: deadline(now)
    }),
    policies: { max_fee: 100 },
    limits: { stellar: { max_value: "4" } }
  },
  "an envelope of stellar that a user has signed": {
    type: "stellar",
    body: ({ network, now, passphrase }) => ({
      network,
      transaction_xdr: envelope(user, [payment(keyNamed("receiver"), 5n)], {
        sequence: 8n,
        maxTime: Math.floor((now + life) / 1000),
        network: passphrase
      }),
      fee_bump: true
    }),
    policies: { max_fee: 100 }
  }
}

/** A relayer of the type, whose providers do not exist, and a body of it. */
export const prepared = Effect.fnUntraced(function* (sent: Sent) {
  const { type } = sent
  const id = randomUUID()
  const passphrase = `Nowhere ${id}`
  yield* Prepared.create("networks", {
    name: id,
    network_type: type,
    average_blocktime_ms: 1000,
    is_testnet: true,
    rpc_urls: ["http://127.0.0.1:1"],
    ...networks[type],
    ...(type === "stellar" ? { passphrase } : {})
  })
  yield* Prepared.create("signers", { id, type: "plain" })
  const created = yield* Prepared.create("relayers", {
    id,
    name: "S",
    network_type: type,
    network: id,
    signer_id: id,
    paused: false,
    ...(type === "solana" ? { policies: { fee_payment_strategy: "relayer" } } : {})
  })
  const { address = "" } = created as { readonly address?: string }
  const { call } = yield* TestApi.TestApi
  const path = `/api/v1/relayers/${id}`
  const send = (given: object, more?: TestApi.Call) =>
    call(`${path}/transactions`, { ...more, method: "POST", body: given })
  const change = (fields: object) =>
    Effect.map(call(path, { method: "PATCH", body: fields }), ({ status, text }) =>
      assert.strictEqual(status, 200, text)
    )
  const sendAll = (transactions: ReadonlyArray<object>, more?: TestApi.Call) =>
    call(`${path}/transactions/batch`, { ...more, method: "POST", body: { transactions } })
  const count = Effect.map(
    call(`${path}/transactions`),
    ({ json }) => (json.pagination as { readonly total_items: number }).total_items
  )
  /** Now, so that its deadline is ahead. */
  const bodyOf = (sent: Sent) =>
    Effect.map(Clock.currentTimeMillis, (now) => sent.body({ address, network: id, passphrase, now }))
  return { id, path, call, send, sendAll, change, count, bodyOf, body: yield* bodyOf(sent) }
})

type Relayer = Effect.Success<ReturnType<typeof prepared>>

type Way = (relayer: Relayer, body: object, call?: TestApi.Call) => Effect.Effect<TestApi.Answer>

export const alone: Way = ({ send }, body, call) => send(body, call)

/** As if the one transaction were the whole response. */
export const inBatch: Way = ({ sendAll }, body, call) =>
  Effect.map(sendAll([body], call), (answer) => {
    const { data } = answer.json
    return Array.isArray(data) ? { ...answer, json: { ...answer.json, data: data[0] } } : answer
  })

export const withKey: Way = ({ send }, body, call = {}) =>
  send(body, { ...call, headers: { ...call.headers, "idempotency-key": randomUUID() } })

export const ways: Readonly<Record<string, Way>> = {
  alone,
  "in a batch": inBatch,
  "with an Idempotency-Key of its own": withKey,
  "with its fields in another order": ({ send }, body, call) =>
    send(Object.fromEntries(Object.entries(body).toReversed()), call)
}

export const dataOf = ({ json }: TestApi.Answer) => json.data as Shown

/** More open transactions than a relayer may have. The first counts are older than these. */
const fill = Effect.fnUntraced(function* ({ id }: Relayer) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    INSERT INTO transactions (
      id, relayer_id, relayer_number, lane_id, request, facts, state, code_since, valid_until, created_at
    )
    SELECT gen_random_uuid(), relayer_id, relayer_number, lane_id, request, facts, state, code_since, valid_until, created_at
    FROM transactions, generate_series(1, 10000) WHERE relayer_id = ${id}`.pipe(Effect.orDie)
  yield* TestClock.adjust("5 seconds")
})

export const reads = ["transactions:read", "transactions:write"]

type Refuse = (
  relayer: Relayer,
  sent: Sent
) => Effect.Effect<string | void, never, TestApi.TestApi | SqlClient.SqlClient>

/** What refuses the body by now. Some return the API key that repeats it. */
export const refusals: Readonly<Record<string, Refuse>> = {
  "its deadline": () => TestClock.adjust(life + 1000),
  "a pause": ({ change }) => change({ paused: true }),
  "a change of the policy": ({ change }, { policies }) => change({ policies }),
  "the limits of an API key": (_, { limits = {} }) => makeKey(reads, { transaction_limits: limits }),
  "too many open transactions": fill
}

/** A key that may not send on the network type gets the same answer as one whose limits are too low. */
export const notOf = (type: NetworkType) => (type === "evm" ? { solana: {} } : { max_value: "1" })

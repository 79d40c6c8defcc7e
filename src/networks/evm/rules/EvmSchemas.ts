// What callers of the API send to relayers of evm, and what they are shown. What is unknown is omitted.
import { Effect, Schema, Struct } from "effect"
import { CheckedEvmAddress, EvmAddress, GasLimit, HexWei, Wei, WeiPerGas } from "../../../domain/chain/Amount.ts"
import { added, field, measured, shown } from "../../../domain/request/Field.ts"
import type { Unit } from "../../../domain/request/Field.ts"
import * as Shown from "../../../domain/request/Shown.ts"
import { Instant, maybe } from "../../../domain/request/Shown.ts"
import { lacking, requiredUnless } from "../../../domain/request/Violations.ts"
import { Code } from "../../core/Cause.ts"
import { neutralAttemptFields, neutralFields, versionField, versionsText } from "../../core/Presentation.ts"
import { batchOf } from "../../core/TransactionRequests.ts"
import { ExternalId, MomentFromText, Speed, TransactionId, TransactionStatus } from "../../core/TransactionValues.ts"
import { AuthorizationList } from "./AuthorizationShapes.ts"
import { batchSize } from "./Batch.ts"
import { EvmSignature, exampleR, exampleS } from "./EvmMessages.ts"
import { maxDataBytes, maxNonce } from "./EvmNumbers.ts"

/** An amount as a text of digits. */
const Decimal = Shown.Digits

const exampleHash = `0x${"5c".repeat(32)}`
const exampleAddress = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

const feeFields = {
  gas_price: shown(Decimal, "Gas price of a legacy transaction, in wei.", "30000000000"),
  max_fee_per_gas: shown(Decimal, "Highest total fee in wei per gas.", "40000000000"),
  max_priority_fee_per_gas: shown(Decimal, "Highest priority fee in wei per gas.", "1000000000")
}

export const TransactionAttempt = Schema.Struct({
  hash: field(Shown.Hash, "Hash of the attempt.", exampleHash),
  kind: field(Schema.Literals(["original", "bump", "replace", "noop"]), "Why it was signed.", "bump"),
  ...feeFields,
  ...neutralAttemptFields,
  nonce: shown(Schema.Natural, "Nonce of its bytes.", 7),
  gas_limit: shown(Schema.Natural, "Gas limit of its bytes.", 21_000),
  first_sent_block: shown(Schema.Natural, "Height of the chain when it was first sent.", 18_999_998),
  block_number: shown(Schema.Natural, "Height of the block with it. Absent if no block has it.", 19_000_000)
}).annotate({ identifier: "EvmTransactionAttempt", description: "A signed version of the transaction." })

const ShownCall = Schema.Struct({
  to: field(EvmAddress, "Receiver, or contract that is called.", exampleAddress),
  value: field(Decimal, "Wei that this call sends.", "1"),
  data: shown(Shown.Bytes, "Call data.", "0xa9059cbb")
}).annotate({ identifier: "ShownEvmCall", description: "One of the calls of a transaction." })

const ShownCalls = shown(
  Schema.Array(ShownCall),
  "Calls that the account makes at once. `value` is what they send together, and there is no `to`. Absent for a single call.",
  [{ to: exampleAddress, value: "1" }]
)

const authorization = {
  authority: field(EvmAddress, "Account whose key has signed the authorization.", exampleAddress),
  address: field(EvmAddress, "The delegate, whose code it runs. The zero address ends a delegation.", exampleAddress)
}

const EvmAuthorization = Schema.Struct({
  ...authorization,
  delegated: field(
    Schema.NullOr(Schema.Boolean),
    "Whether the authority has this delegation at the block of the transaction; for the zero address, whether it has no code. Null while that is not known. It says what is there, not which transaction has done it.",
    true
  )
}).annotate({ identifier: "EvmAuthorization", description: "An authorization (EIP-7702), and what became of it." })

const EvmAuthorizationOfVersion = Schema.Struct(authorization).annotate({
  identifier: "EvmAuthorizationOfVersion",
  description: "An authorization (EIP-7702)."
})

const EvmRequestVersion = Schema.Struct({
  version: versionField,
  value: field(
    HexWei,
    "Wei that it sends, as 0x and hex digits: `0x38d7ea4c68000` is 1000000000000000. Other amounts are decimal.",
    "0x38d7ea4c68000"
  ),
  ...feeFields,
  to: shown(EvmAddress, "Receiver. Absent for a creation.", exampleAddress),
  data: shown(Shown.Bytes, "Call data or init code.", "0xa9059cbb"),
  calls: ShownCalls,
  gas_limit: shown(Schema.Natural, "Gas limit. Absent if the service estimates it.", 21_000),
  speed: shown(Speed, "Speed that decides its price, if no fees were given.", "fast"),
  authorizations: shown(Schema.Array(EvmAuthorizationOfVersion), "Authorizations that it carries (EIP-7702).", [])
}).annotate({ identifier: "EvmRequestVersion", description: "What a caller asked for, in one of its versions." })

const Route = Schema.Literals(["public", "private", "fell_back"])

/** The only change of a route that a caller can make. */
export const ChangeRoute = Schema.Struct({
  route: field(Schema.Literal("public"), "Normal RPC URLs get the transaction from now on.", "public")
}).annotate({ identifier: "ChangeRouteRequest", description: "Who is to get a transaction." })
export type ChangeRoute = typeof ChangeRoute.Type

export const EvmTransaction = Schema.Struct({
  ...neutralFields,
  network_type: field(Schema.Literal("evm"), added("Network type of the relayer."), "evm"),
  hash: shown(
    Shown.Hash,
    "Hash of the attempt that was mined, else of the newest. Changes with each attempt.",
    exampleHash
  ),
  ...feeFields,
  gas_limit: shown(Schema.Natural, "Gas limit.", 21_000),
  nonce: shown(Schema.Natural, "Nonce of the account.", 7),
  value: field(
    HexWei,
    "Wei that it sends, as 0x and hex digits: `0x38d7ea4c68000` is 1000000000000000. Other amounts are decimal.",
    "0x38d7ea4c68000"
  ),
  from: field(EvmAddress, "Address of the relayer.", exampleAddress.toLowerCase()),
  to: shown(EvmAddress, "Receiver. Absent for a creation.", exampleAddress),
  data: shown(Shown.Bytes, "Call data or init code.", "0xa9059cbb"),
  calls: ShownCalls,
  delegate: shown(
    EvmAddress,
    "Contract that the account delegates to by this transaction; the zero address ends the delegation. Absent for all other transactions.",
    exampleAddress.toLowerCase()
  ),
  signature: shown(EvmSignature, "Signature of the attempt that `hash` names.", {
    r: "1a".repeat(32),
    s: "2b".repeat(32),
    v: 0,
    sig: `${"1a".repeat(32)}${"2b".repeat(32)}00`
  }),
  speed: shown(Speed, "Speed that decides its price, if no fees were given.", "fast"),
  route: shown(
    Route,
    "Which RPC URLs get it. `fell_back`: it was private, and is public from then on. Absent: `public`.",
    "private"
  ),
  fallback_after_seconds: shown(
    Schema.Natural,
    "Seconds for which it waits at the chain's count before it becomes public by itself. Absent: it does not.",
    120
  ),
  seen_publicly_at: shown(
    MomentFromText,
    "Since when a normal RPC provider has it, although only private ones got it from the service. Absent: none has shown it.",
    "2026-11-22T17:59:00.000Z"
  ),
  fallback_at: shown(
    MomentFromText,
    "When it becomes public by itself. Absent: its time does not run.",
    "2026-11-22T18:00:00.000Z"
  ),
  attempts: shown(Schema.Array(TransactionAttempt), "All signed versions, oldest first.", []),
  request_versions: shown(Schema.Array(EvmRequestVersion), versionsText, []),
  mined_as: shown(
    Schema.Literals(["call", "noop"]),
    "What a block has at its nonce: the request in one of its versions (`call`), or the no-op that replaced it (`noop`), whose hash `hash` is then. Absent if no block has either. A transaction with `noop` has no effect once it is final.",
    "call"
  ),
  block_number: shown(Schema.Natural, "Height of the block with it.", 19_000_000),
  block_hash: shown(Shown.Hash, "Hash of the block with it.", exampleHash),
  contract_address: shown(EvmAddress, "Contract that it created.", exampleAddress),
  gas_used: shown(Decimal, "Gas that it used.", "21000"),
  effective_gas_price: shown(Decimal, "Wei per gas that it paid.", "25000000000"),
  fee_paid: shown(Decimal, "Wei that it paid for gas.", "525000000000000"),
  revert_reason: shown(Shown.Words, "Decoded reason of the revert.", "transfer amount exceeds balance"),
  authorizations: shown(
    Schema.Array(EvmAuthorization),
    "Authorizations of the version that was mined, else of the newest (EIP-7702). They outlive a revert of the call. Entries of other versions that were sent can be used by anybody until the nonce of their authority has moved.",
    []
  ),
  warnings: shown(
    Schema.Array(Shown.Words),
    "What may not be meant as it was written: authorizations that are valid on every chain, and delegates without code.",
    ["authorization 0 has chain id 0, so that it is valid on every chain"]
  )
}).annotate({ identifier: "EvmTransactionResponse", description: "An evm transaction." })
export type EvmTransaction = typeof EvmTransaction.Type

// The body of a send, and of a replacement, field by field. `Consistency.ts` checks fields against each other, and
// `Admission.ts` against relayer, network and time.

const EvmData = Schema.String.check(
  Schema.isPattern(/^0x([0-9a-fA-F]{2})*$/u, { expected: "0x and two hex digits per byte" }),
  Schema.isMaxLength(2 + 2 * maxDataBytes, { expected: `at most ${maxDataBytes} bytes` })
)

const documented = <const T>(description: string, example: T, unit?: Unit) => ({
  description,
  examples: [example],
  ...(unit === undefined ? {} : { unit })
})

const exampleReceiver = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

const Call = Schema.Struct({
  to: field(CheckedEvmAddress, "Receiver, or contract that is called. Not the account itself.", exampleReceiver),
  value: measured(
    field(Wei, "Wei that this call sends. The default is 0.", "1000000000000000").pipe(
      Schema.withDecodingDefaultKey(Effect.succeed(0))
    ),
    "native"
  ),
  data: maybe(EvmData, documented("Call data.", "0xa9059cbb"))
}).annotate({ identifier: "EvmCall", description: "One of the calls that an account makes in one transaction." })

const Calls = Schema.Array(Call).check(
  Schema.isBetweenLength(batchSize.minimum, batchSize.maximum, {
    expected: `${batchSize.minimum} to ${batchSize.maximum} calls`
  })
)

const sendFields = {
  // `Admission.ts` checks the checksum of mixed case.
  to: maybe(
    CheckedEvmAddress,
    documented("Receiver, or contract that is called. If absent, `data` creates a contract.", exampleReceiver)
  ),
  value: measured(
    field(Wei, "Wei that is sent. The default is 0.", "1000000000000000").pipe(
      Schema.withDecodingDefaultKey(Effect.succeed(0))
    ),
    "native"
  ),
  data: maybe(EvmData, documented("Call data, or init code of a creation.", "0xa9059cbb")),
  calls: maybe(
    Calls,
    documented(
      "Calls that the relayer's account makes in one transaction, instead of `to`, `value` and `data`: all of them, or none if one fails. The account has to delegate to an executor (`POST …/delegation`).",
      [
        { to: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", value: "1" },
        { to: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", value: "2" }
      ]
    )
  ),
  gas_limit: maybe(GasLimit, documented("Gas limit. If absent, it is estimated.", 21_000)),
  gas_price: maybe(
    WeiPerGas,
    documented(
      "Gas price of a legacy transaction, in wei. It cannot be combined with the other fees or `speed`.",
      "30000000000",
      "price"
    )
  ),
  max_fee_per_gas: maybe(WeiPerGas, documented("Highest total fee in wei per gas (EIP-1559).", "40000000000", "price")),
  max_priority_fee_per_gas: maybe(
    WeiPerGas,
    documented("Highest priority fee in wei per gas (EIP-1559).", "1000000000", "price")
  ),
  speed: maybe(Speed, documented("How soon it should be mined, if no fees are given. The default is `fast`.", "fast")),
  valid_until: maybe(Instant, documented("Deadline. If absent, 8 hours; at most 7 days.", "2026-11-22T18:00:00.000Z")),
  not_before: maybe(
    Instant,
    documented("Moment before which the transaction gets no nonce.", "2026-11-22T12:00:00.000Z")
  ),
  nonce: maybe(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maxNonce })),
    documented("Nonce that the transaction must have: with another one it is never executed.", 7)
  ),
  external_id: maybe(ExternalId, documented("The caller's identifier, unique per relayer.", "order-1234")),
  priority: maybe(
    Schema.Literals([-1, 0, 1]),
    documented("Order among the relayer's transactions. The default is 0.", 1)
  ),
  wait_for_funds: maybe(
    Schema.Boolean,
    documented(
      "Whether it waits for funds until its deadline. The default is false: it fails after ten minutes without them.",
      true
    )
  ),
  private: maybe(
    Schema.Boolean,
    documented(
      "Whether only private RPC URLs get it. If absent, the policy of the relayer decides; false against the policy is refused. Without a private RPC URL the answer is 409 `no_private_rpc`.",
      true
    )
  ),
  authorization_list: maybe(
    AuthorizationList,
    documented(
      "Authorizations of other accounts (EIP-7702), 1 to 10, in the shapes of viem, ethers, ox, eth-account, or as RLP of six fields from `cast wallet sign-auth`. It needs `to`, EIP-1559 fees, the feature `eip7702` of the network and `allowed_delegates` of the policy. A replacement without the field keeps the list.",
      [
        {
          chain_id: 11_155_111,
          address: exampleReceiver,
          nonce: 0,
          y_parity: 0,
          r: `0x${exampleR}`,
          s: `0x${exampleS}`
        }
      ]
    )
  ),
  simulate: maybe(
    Schema.Boolean,
    documented(
      "Whether the call is estimated before it is sent. The default is true if `gas_limit` is absent. If it is true and `gas_limit` is given, a call that uses more than `gas_limit` fails with `gas_limit_below_estimate` and is not sent.",
      false
    )
  )
}

export const SendEvmTransaction = lacking(Schema.Struct(sendFields), requiredUnless("to", "data", "calls")).annotate({
  identifier: "SendEvmTransactionRequest",
  description: "A transaction to send."
})
export type SendEvmTransaction = typeof SendEvmTransaction.Type

/** A replacement keeps its place, its name and its route. */
export const ReplaceEvmTransaction = Schema.Struct({
  ...Struct.omit(sendFields, ["not_before", "nonce", "external_id", "priority", "private"]),
  valid_until: maybe(Instant, documented("Deadline. If absent, the former one stays.", "2026-11-22T18:00:00.000Z")),
  wait_for_funds: maybe(
    Schema.Boolean,
    documented("Whether it waits for funds until its deadline. If absent, this stays as it was.", true)
  )
}).annotate({
  identifier: "ReplaceEvmTransactionRequest",
  description: "What a transaction does instead."
})
export type ReplaceEvmTransaction = typeof ReplaceEvmTransaction.Type

export const SendEvmBatch = batchOf(SendEvmTransaction, {
  to: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
  value: "1"
}).annotate({ identifier: "SendEvmTransactionBatchRequest", description: "Transactions that are accepted together." })

// What a send would do and cost now. Nothing is stored or sent.

const Amount = Schema.BigIntFromString

const SimulatedPrice = Schema.Struct({
  gas_price: shown(Amount, "Gas price of a legacy transaction, in wei.", "30000000000"),
  max_fee_per_gas: shown(Amount, "Highest total fee in wei per gas.", "40000000000"),
  max_priority_fee_per_gas: shown(Amount, "Highest priority fee in wei per gas.", "1000000000"),
  max_cost: field(
    Amount,
    "Most wei that value, gas, data and operator fee can cost at this price.",
    "1000840000000000000"
  )
}).annotate({
  identifier: "SimulatedPrice",
  description: "Price that a transaction would offer now, and its highest cost."
})

const SimulationProblem = Schema.Struct({
  field: field(Schema.String, "Field of the request, or `balance`.", "to"),
  message: field(Shown.Words, "What is wrong with it.", "is not in whitelist_receivers of the relayer's policy")
}).annotate({ identifier: "SimulationProblem", description: "Why the transaction would be refused, held or fail." })

export const Simulation = Schema.Struct({
  is_accepted: field(Schema.Boolean, "Whether a send of this request would be accepted now.", true),
  problems: field(Schema.Array(SimulationProblem), "Why it would be refused, held, or fail.", []),
  would_revert: shown(Schema.Boolean, "Whether the call reverts now. Absent if no provider answered.", false),
  revert_reason: shown(Shown.Words, "Decoded reason of the revert.", "transfer amount exceeds balance"),
  gas_used: shown(Amount, "Gas that the call uses now.", "21000"),
  gas_limit: shown(Schema.Natural, "Gas limit that the transaction would get.", 21_000),
  price: shown(SimulatedPrice, "At the price in the request, or at the price of its speed.", {
    gas_price: "30000000000",
    max_cost: "630000000000000"
  }),
  prices: shown(
    Schema.Struct({
      safeLow: field(SimulatedPrice, "At the speed `safeLow`."),
      average: field(SimulatedPrice, "At the speed `average`."),
      fast: field(SimulatedPrice, "At the speed `fast`."),
      fastest: field(SimulatedPrice, "At the speed `fastest`.")
    }).annotate({ identifier: "SimulatedPrices", description: "Per speed, within the relayer's cap." }),
    "Per speed, within the relayer's cap.",
    {
      safeLow: { gas_price: "30000000000", max_cost: "630000000000000" },
      average: { gas_price: "30000000000", max_cost: "630000000000000" },
      fast: { gas_price: "30000000000", max_cost: "630000000000000" },
      fastest: { gas_price: "30000000000", max_cost: "630000000000000" }
    }
  ),
  data_fee: shown(
    Amount,
    "Most wei that a rollup can charge for the data, besides gas: twice what it charges now. Absent if the chain includes it in gas.",
    "120000000000"
  ),
  operator_fee: shown(
    Amount,
    "Most wei that an OP-stack chain can charge for its operator, besides gas. Absent if it charges none.",
    "4000000000"
  ),
  base_fee: shown(Amount, "Base fee of the next block, in wei per gas.", "25000000000"),
  balance: shown(Amount, "Wei on the account.", "2000000000000000000"),
  reserved: field(Amount, "Wei that the open transactions of the account can cost.", "0")
}).annotate({ identifier: "TransactionSimulation", description: "What a send would do and cost now." })
export type Simulation = typeof Simulation.Type

// The nonces of an account: what the ledger has, next to what the chain says.

const Nonce = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maxNonce }))

export const NonceState = Schema.Struct({
  address: field(EvmAddress, "Account, in lower case.", "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"),
  chain_id: field(Schema.Natural, "Chain id (EIP-155).", 11_155_111),
  generation: field(Schema.Natural, "How often an operator declared that the test network was restarted.", 0),
  next_nonce: field(Nonce, "Nonce that the service assigns next.", 12),
  known_count: field(
    Nonce,
    "Highest transaction count of the account that the service has accepted from the chain.",
    10
  ),
  settled_nonce: field(Nonce, "All transactions with a lower nonce are final.", 8),
  pending: field(Schema.Natural, "Open transactions of the account without a nonce.", 3),
  in_flight: field(Schema.Natural, "Open transactions of the account with a nonce.", 2),
  window: shown(Schema.Natural, "Transactions that may be in flight at once, at present.", 64),
  oldest_open_nonce: shown(Nonce, "Lowest nonce of an open transaction.", 10),
  code: shown(Code, "Why the service assigns no nonces to the account's transactions.", "nonce_ahead"),
  code_since: shown(Instant, "Since when.", "2026-11-22T12:00:00.000Z"),
  chain_count: shown(
    Nonce,
    "Transactions of the account in blocks, read from a provider for this response. Absent if no provider answers.",
    10
  ),
  chain_pending_count: shown(Nonce, "The same, plus the transactions in the provider's pool.", 12)
}).annotate({ identifier: "NonceState", description: "Nonces of the ledger next to those of the chain." })
export type NonceState = typeof NonceState.Type

/** Nonces that one request clears at most. */
export const maxCleared = 1000

export const ClearNonces = Schema.Struct({
  from: field(Nonce, "First nonce.", 10),
  to: field(Nonce, "Last nonce of the range, inclusive. At most 999 above the first one.", 11),
  max_fee_per_gas: maybe(WeiPerGas, {
    description:
      "The most that the no-ops may offer, in wei per gas, also above the `gas_price_cap` of the relayer. If absent: what the cap allows; without a cap, at least twice the price of `fast` at the moment.",
    examples: ["200000000000"]
  })
}).annotate({
  identifier: "ClearNoncesRequest",
  description: "Nonces whose open transactions are replaced by no-ops."
})
export type ClearNonces = typeof ClearNonces.Type

/** A transaction in the range, after the command. */
const ClearedNonce = Schema.Struct({
  transaction_id: field(TransactionId, "Transaction that has the nonce.", "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"),
  nonce: field(Nonce, "Its nonce.", 10),
  status: field(TransactionStatus, "State of the transaction.", "submitted"),
  code: shown(Code, "What it waits for.", "canceling"),
  changed: field(Schema.Boolean, "Whether the command changed it. A transaction that is mined stays as it is.", true)
}).annotate({ identifier: "ClearedNonce", description: "An open transaction that has a nonce of the range." })

export const ClearedNonces = Schema.Struct({
  transaction_ids: field(Schema.Array(TransactionId), "Transactions that it changed.", [
    "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"
  ]),
  transactions: field(
    Schema.Array(ClearedNonce),
    "The relayer's open transactions that have a nonce of the range. Empty: there are none.",
    [
      {
        transaction_id: "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b",
        nonce: 10,
        status: "submitted",
        code: "canceling",
        changed: true
      }
    ]
  )
}).annotate({ identifier: "ClearedNonces", description: "What the command changed, and what has the nonces." })
export type ClearedNonces = typeof ClearedNonces.Type

/** What the command changed. */
export const NonceDecision = Schema.Struct({
  transaction_ids: field(Schema.Array(TransactionId), "Transactions that it changed.", [
    "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"
  ])
}).annotate({ identifier: "NonceDecision", description: "What the command changed." })
export type NonceDecision = typeof NonceDecision.Type

// What callers ask for about the delegation of a relayer's account, and what they are shown of it.
import { Schema } from "effect"
import { CheckedEvmAddress, EvmAddress } from "../../../domain/chain/Amount.ts"
import { field, shown } from "../../../domain/request/Field.ts"
import * as Shown from "../../../domain/request/Shown.ts"
import { maybe } from "../../../domain/request/Shown.ts"
import { MomentFromText, TransactionId } from "../../core/TransactionValues.ts"

const exampleDelegate = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"
const exampleHash = `0x${"5c".repeat(32)}`

export const Delegate = Schema.Struct({
  address: field(
    CheckedEvmAddress,
    "Contract whose code the account runs from then on: an executor of ERC-7821.",
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
  ),
  accept_proxy: maybe(Schema.Boolean, {
    description:
      "Whether the contract may be a proxy, whose code others can replace without a trace at the account. The default is false.",
    examples: [true]
  })
}).annotate({ identifier: "DelegateRequest", description: "What a relayer's account delegates to (EIP-7702)." })
export type Delegate = typeof Delegate.Type

const Warnings = Schema.Array(Shown.Words)

/** What a caller gets who changes the delegation. */
export const DelegationChange = Schema.Struct({
  transaction_id: field(
    TransactionId,
    "Transaction that changes the delegation. It takes two nonces.",
    "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"
  ),
  address: shown(EvmAddress, "Contract that the account delegates to. Absent: the delegation ends.", exampleDelegate),
  warnings: field(Warnings, "What changes for the account, and what the service does not check.", [])
}).annotate({ identifier: "DelegationChange", description: "A change of the delegation that was accepted." })
export type DelegationChange = typeof DelegationChange.Type

export const Delegation = Schema.Struct({
  address: shown(
    EvmAddress,
    "Contract that the account delegates to, as the service has recorded it. Absent: none.",
    exampleDelegate
  ),
  is_final: field(Schema.Boolean, "Whether `address` counts: the last change is final.", true),
  nonce: shown(Schema.Natural, "Nonce of the transaction that made the last change.", 7),
  code_hash: shown(Shown.Hash, "Hash of the code of the contract when the account delegated to it.", exampleHash),
  implementation: shown(
    EvmAddress,
    "Contract that a proxy named as its implementation then (EIP-1967).",
    exampleDelegate
  ),
  beacon: shown(EvmAddress, "Contract that a proxy named as its beacon then (EIP-1967).", exampleDelegate),
  takes_signatures: shown(
    Schema.Boolean,
    "Whether contracts accept signatures of the relayer's key as those of its account (ERC-1271). Absent: there is no delegation.",
    true
  ),
  changed: shown(Shown.Words, "What has changed since the delegation. Absent: nothing was found.", "its code"),
  changed_since: shown(MomentFromText, "When that was found.", "2026-11-22T18:00:00.000Z"),
  checked_at: shown(
    MomentFromText,
    "When the contract was last compared. Absent: not yet.",
    "2026-11-22T18:00:00.000Z"
  ),
  open_transaction_id: shown(
    TransactionId,
    "Transaction that changes the delegation and is not final. Absent: there is none.",
    "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"
  )
}).annotate({ identifier: "Delegation", description: "What the account of a relayer delegates to." })
export type Delegation = typeof Delegation.Type

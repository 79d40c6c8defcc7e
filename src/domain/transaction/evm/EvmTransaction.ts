// A transaction as the API shows it. What is unknown is omitted.
import { Schema } from "effect"
import { EvmSignature } from "./Signature.ts"
import { neutralAttemptFields, neutralFields, versionField, versionsText } from "../Presentation.ts"
import { Speed } from "../TransactionValues.ts"
import { EvmAddress } from "../../chain/Address.ts"
import { HexWei } from "../../chain/Amount.ts"
import { added, field, shown } from "../../request/Field.ts"
import * as Shown from "../../request/Shown.ts"

/** An amount as a text of digits. */
const Decimal = Shown.Digits

const hash = `0x${"5c".repeat(32)}`
const address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

const fees = {
  gas_price: shown(Decimal, "Gas price of a legacy transaction, in wei.", "30000000000"),
  max_fee_per_gas: shown(Decimal, "Highest total fee in wei per gas.", "40000000000"),
  max_priority_fee_per_gas: shown(Decimal, "Highest priority fee in wei per gas.", "1000000000")
}

export const TransactionAttempt = Schema.Struct({
  hash: field(Shown.Hash, "Hash of the attempt.", hash),
  kind: field(Schema.Literals(["original", "bump", "replace", "noop"]), "Why it was signed.", "bump"),
  ...fees,
  ...neutralAttemptFields,
  nonce: shown(Schema.Natural, "Nonce of its bytes.", 7),
  gas_limit: shown(Schema.Natural, "Gas limit of its bytes.", 21_000),
  first_sent_block: shown(Schema.Natural, "Height of the chain when it was first sent.", 18_999_998),
  block_number: shown(Schema.Natural, "Height of the block with it. Absent if no block has it.", 19_000_000)
}).annotate({ identifier: "EvmTransactionAttempt", description: "A signed version of the transaction." })

const EvmRequestVersion = Schema.Struct({
  version: versionField,
  value: field(HexWei, "Wei that it sends.", "0x38d7ea4c68000"),
  ...fees,
  to: shown(EvmAddress, "Receiver. Absent for a creation.", address),
  data: shown(Shown.Bytes, "Call data or init code.", "0xa9059cbb"),
  gas_limit: shown(Schema.Natural, "Gas limit. Absent if the service estimates it.", 21_000),
  speed: shown(Speed, "Speed that decides its price, if no fees were given.", "fast")
}).annotate({ identifier: "EvmRequestVersion", description: "What a caller asked for, in one of its versions." })

export const EvmTransaction = Schema.Struct({
  ...neutralFields,
  network_type: field(Schema.Literal("evm"), added("Network type of the relayer."), "evm"),
  hash: shown(Shown.Hash, "Hash of the attempt that was mined, else of the newest. Changes with each attempt.", hash),
  ...fees,
  gas_limit: shown(Schema.Natural, "Gas limit.", 21_000),
  nonce: shown(Schema.Natural, "Nonce of the account.", 7),
  value: field(HexWei, "Wei that it sends.", "0x38d7ea4c68000"),
  from: field(EvmAddress, "Address of the relayer.", address.toLowerCase()),
  to: shown(EvmAddress, "Receiver. Absent for a creation.", address),
  data: shown(Shown.Bytes, "Call data or init code.", "0xa9059cbb"),
  signature: shown(EvmSignature, "Signature of the attempt that `hash` names.", {
    r: "1a".repeat(32),
    s: "2b".repeat(32),
    v: 0,
    sig: `${"1a".repeat(32)}${"2b".repeat(32)}00`
  }),
  speed: shown(Speed, "Speed that decides its price, if no fees were given.", "fast"),
  attempts: shown(Schema.Array(TransactionAttempt), "All signed versions, oldest first.", []),
  request_versions: shown(Schema.Array(EvmRequestVersion), versionsText, []),
  block_number: shown(Schema.Natural, "Height of the block with it.", 19_000_000),
  block_hash: shown(Shown.Hash, "Hash of the block with it.", hash),
  contract_address: shown(EvmAddress, "Contract that it created.", address),
  gas_used: shown(Decimal, "Gas that it used.", "21000"),
  effective_gas_price: shown(Decimal, "Wei per gas that it paid.", "25000000000"),
  fee_paid: shown(Decimal, "Wei that it paid for gas.", "525000000000000"),
  revert_reason: shown(Shown.Words, "Decoded reason of the revert.", "transfer amount exceeds balance")
}).annotate({ identifier: "EvmTransactionResponse", description: "An evm transaction." })
export type EvmTransaction = typeof EvmTransaction.Type

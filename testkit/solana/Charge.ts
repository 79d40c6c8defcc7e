// What a transaction pays on a cluster, as Agave 4.1 charges it. It shares nothing with the fee that the service computes, so that tests
// compare two readings of the rules.
import type { Message } from "../../src/networks/solana/rules/Message.ts"

/** Lamports of each signature, of the transaction and of its precompiles. */
const perSignature = 5000n

/** Programs that count as builtins, and as precompiles: `solana-builtins-default-costs` 4.1, and what litesvm 1.5.0 charges. */
const builtins = new Set([
  "11111111111111111111111111111111",
  "BPFLoader1111111111111111111111111111111111",
  "BPFLoader2111111111111111111111111111111111",
  "BPFLoaderUpgradeab1e11111111111111111111111",
  "ComputeBudget111111111111111111111111111111",
  "Ed25519SigVerify111111111111111111111111111",
  "KeccakSecp256k11111111111111111111111111111"
])
const claiming = new Set([
  "Ed25519SigVerify111111111111111111111111111",
  "KeccakSecp256k11111111111111111111111111111",
  "Secp256r1SigVerify1111111111111111111111111"
])

/** Compute units: of an instruction of a builtin, of another one, and of a transaction at most. */
const units = { builtin: 3000, other: 200_000, most: 1_400_000 } as const

const budgetProgram = "ComputeBudget111111111111111111111111111111"

const viewOf = (data: Uint8Array): DataView => new DataView(data.buffer, data.byteOffset, data.length)

/** What the instructions of the compute budget say. Undefined: the runtime does not take one of them. */
export const budgetOf = ({ instructions, keys, version }: Message): { limit?: number; price: bigint } | undefined => {
  const budget: { limit?: number; price: bigint } = { price: 0n }
  // They have no effect in version 1, whatever they say.
  if (version === 1) return budget
  const seen = new Set<number>()
  for (const { data, program } of instructions) {
    if (keys[program] !== budgetProgram) continue
    const kind = data.at(0) ?? 0
    const needed = kind === 3 ? 9 : [1, 2, 4].includes(kind) ? 5 : Number.MAX_SAFE_INTEGER
    if (data.length < needed || seen.has(kind)) return undefined
    seen.add(kind)
    if (kind === 2) budget.limit = viewOf(data).getUint32(1, true)
    if (kind === 3) budget.price = viewOf(data).getBigUint64(1, true)
  }
  return budget
}

interface Charge {
  readonly signatures: bigint
  /** What it pays to be executed earlier. */
  readonly priority: bigint
}

/** Lamports. Version 1 names what it pays above its signatures. */
export const chargesOf = (message: Message): Charge => {
  const { limit, price } = budgetOf(message) ?? { price: 0n }
  let [allowed, signatures] = [0, message.signers]
  for (const { data, program } of message.instructions) {
    const address = message.keys[program] ?? ""
    allowed += builtins.has(address) ? units.builtin : units.other
    if (claiming.has(address)) signatures += data.at(0) ?? 0
  }
  const ofSignatures = BigInt(signatures) * perSignature
  if (message.version === 1) return { signatures: ofSignatures, priority: message.config?.priorityFee ?? 0n }
  const granted = BigInt(Math.min(limit ?? allowed, units.most))
  const micro = price * granted
  return { signatures: ofSignatures, priority: micro / 1_000_000n + (micro % 1_000_000n > 0n ? 1n : 0n) }
}

/** Lamports in all. */
export const chargeOf = (message: Message): bigint => {
  const { priority, signatures } = chargesOf(message)
  return signatures + priority
}
